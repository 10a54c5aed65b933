"""The loopback door between an engine and its clients (window, command line): JSON-RPC 2.0 over a WebSocket."""
