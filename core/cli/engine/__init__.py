"""Commands to the engine that runs, and about this computer."""
