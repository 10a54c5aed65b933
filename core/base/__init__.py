"""Foundations that every room shares: names, machines, the wire, keys, manifests, problems."""
