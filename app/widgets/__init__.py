"""Small things that are drawn."""
