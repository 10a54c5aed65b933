"""Hostile messages of every kind to peers of a simulated collaboration, which trains meanwhile."""
