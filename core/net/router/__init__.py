"""The home's router: its port is opened, and its own peers are found."""
