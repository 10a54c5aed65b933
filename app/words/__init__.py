"""Texts of the pages that are put together from values."""
