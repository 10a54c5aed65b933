"""What hostile peers try against the DHT, and how many lookups still succeed with and without each defence."""

from core.sim.attacks.program import main

__all__ = ["main"]
