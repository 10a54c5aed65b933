"""What a peer contributes to a round, and what it makes of the mean."""
