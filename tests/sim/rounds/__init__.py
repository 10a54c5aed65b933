"""One averaging round of the real machines, in a network where nothing but the peers' lines costs anything."""
