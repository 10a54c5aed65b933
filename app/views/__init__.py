"""Views: the parts of the window."""
