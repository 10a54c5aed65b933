"""The backbone and its page under load."""
