"""Devices that compute: precision, batches that fit, and replicas on several of them."""
