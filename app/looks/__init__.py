"""Themes, languages and what a person chooses of both."""
