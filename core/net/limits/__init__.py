"""How much others may use of this computer, and this computer of its line."""
