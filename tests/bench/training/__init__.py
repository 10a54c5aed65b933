"""Loops that train, beside a worker's own, and what they read."""
