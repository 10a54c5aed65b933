"""Batches under way through a model whose layers of experts answer elsewhere."""
