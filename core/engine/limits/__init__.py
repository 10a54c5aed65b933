"""What the person allows, and what follows from it for training and for the line."""
