"""Trainers and hosts of a mixture of experts that lie, among honest ones, in simulated time."""
