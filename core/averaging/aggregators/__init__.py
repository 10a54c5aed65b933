"""How many contributions become one: each aggregator a module of its own (`core.averaging.aggregators.registry`)."""
