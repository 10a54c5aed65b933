"""Large DHTs of real nodes in a simulated world."""
