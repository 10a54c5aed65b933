"""One epoch: samples are counted until the batch is full, and groups are made."""
