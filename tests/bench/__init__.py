"""How fast the parts are on this computer, with real processes and real connections."""
