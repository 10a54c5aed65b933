"""A simulated world for the swarm's own machines: time, links and chance from one seed, with checkers beside it."""
