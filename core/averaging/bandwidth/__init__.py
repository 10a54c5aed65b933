"""What peers know of their lines to the network: measured in passing, told to others as signed facts, and doubted."""
