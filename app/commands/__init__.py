"""Commands of the line that the window runs for a person, and what they print while they work."""
