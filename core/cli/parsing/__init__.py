"""Words of the command line: the parser, options that commands share, quantities, and the list of commands."""
