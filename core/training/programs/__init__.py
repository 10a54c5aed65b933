"""Programs of the worker's own that prepare text, use a model, or train alone."""
