"""Whether others can reach this computer, and how its network and clock behave."""
