"""The command line: one program, `potluck`, with a subcommand for each thing a person may want."""
