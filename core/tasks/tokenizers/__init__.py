"""Tokenizers turn text into the numbers that a model reads."""
