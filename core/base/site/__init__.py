"""What the backbone and the process of its page both know: how they talk, and the ways in."""
