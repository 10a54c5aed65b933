"""Datagrams: their form, their socket, and what is refused."""
