"""The simulated world itself: time, nodes, links and the two planes between them."""
