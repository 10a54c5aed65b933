"""The end of a round: two-phase commit with a ranked coordinator."""
