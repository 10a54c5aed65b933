"""Members that read a data set in the simulated world and share its shards."""
