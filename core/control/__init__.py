"""Control: the loopback service of an engine for its clients (window, command line): JSON-RPC 2.0 over a WebSocket."""
