"""The worker: a process of its own that trains, and nothing else."""
