"""A small ALBERT that learns masked words and the order of sentences (Lan et al. 2019)."""
