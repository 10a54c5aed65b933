"""The dialog of the settings: its pages, and what they have in common."""
