"""Finding the group of a round: an attempt, its leader, the call, the answers, the plan and its check."""
