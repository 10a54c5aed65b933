"""The real network: TLS streams and signed datagrams on one port, and the host that runs a machine on them."""
