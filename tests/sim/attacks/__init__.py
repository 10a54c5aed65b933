"""Attacks of hostile peers against the DHT, and the share of lookups that succeed with and without each defence."""

from tests.sim.attacks.program import main

__all__ = ["main"]
