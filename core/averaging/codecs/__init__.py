"""How numbers travel: each codec a module of its own (`core.averaging.codecs.registry` knows them all)."""
