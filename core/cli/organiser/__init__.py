"""Commands of people who found a collaboration, let others in, and look after its text."""
