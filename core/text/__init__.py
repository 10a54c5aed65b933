"""Text that a collaboration learns from: where it comes from, and the order in which it is read."""
