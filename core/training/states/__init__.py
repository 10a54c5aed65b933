"""States of the training: checkpoints, their image in memory, and places in the text."""
