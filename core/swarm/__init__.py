"""What a peer does in a collaboration: progress, membership, the epoch machine, catching up."""
