"""What the members of a round sign when it is over."""
