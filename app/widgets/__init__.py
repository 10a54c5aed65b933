"""Widgets: small parts that are drawn."""
