"""Averaging: how a group of peers turns their contributions into one mean that all of them hold bit for bit."""
