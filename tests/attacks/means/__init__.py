"""Means that are false, in rounds of a simulated network: `python -m tests.attacks.means`."""
