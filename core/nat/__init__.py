"""How peers behind routers reach each other: knowing oneself, punching, relays and circuits.  Machines only."""
