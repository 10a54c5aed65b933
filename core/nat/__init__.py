"""Machines by which peers behind routers reach each other: reachability, hole punching, relays and circuits."""
