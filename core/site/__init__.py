"""The page of a collaboration, for everybody: a process beside the backbone that holds no key, and only shows."""
