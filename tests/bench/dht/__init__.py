"""Stores and gets between real nodes of the DHT."""
