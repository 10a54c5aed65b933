"""How a peer that is behind comes to the state of the others, and how it gives its own."""
