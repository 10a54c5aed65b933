"""Addresses and names of hosts, interfaces and ports of this computer."""
