"""Costs of window, engine and command line for a person at the computer."""
