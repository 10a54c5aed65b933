"""Who may decide in a collaboration, what they have decided, and how all peers learn it."""
