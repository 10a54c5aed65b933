"""The data of a round: reduce-scatter and all-gather between the members of a plan."""
