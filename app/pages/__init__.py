"""Pages: what the entries of the window's left rail open."""
