"""What the machines of the swarm say to each other, to the worker and to other peers."""
