"""How numbers travel: each codec a module of its own (`core.codecs.registry` knows them all)."""
