"""Potluck's engine: a swarm that trains one model together."""
