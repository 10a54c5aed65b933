"""One collaboration as a computer takes part in it: a peer, the host that runs it, and the way to others."""
