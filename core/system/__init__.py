"""Services of the operating system: files, locks, parent processes, terminals."""
