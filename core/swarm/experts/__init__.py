"""Experts in the swarm: who says to host which, whom trainers ask, and which places a host takes."""
