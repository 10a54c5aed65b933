"""Peers behind simulated routers, which call each other."""
