"""Division of a round: how fast it is found, and how far from the best one it is."""
