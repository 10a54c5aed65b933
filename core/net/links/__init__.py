"""Encrypted links between two peers: how they begin, carry messages and end."""
