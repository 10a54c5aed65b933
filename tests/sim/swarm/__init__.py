"""Whole collaborations in the simulated world, from a seed to a verdict."""
