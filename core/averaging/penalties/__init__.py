"""What one peer remembers of the others from round to round, and what follows from it."""
