"""A mixture of experts: where experts have their places, and which of them a sample is given to (Learning@home)."""
