"""Potluck's engine: a swarm that trains one model together."""

VERSION = "0.1.0"
