"""Rounds as the swarm sees them: offered, begun, in doubt, finished."""
