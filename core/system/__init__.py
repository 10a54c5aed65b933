"""What this computer's operating system does for the program: files, locks, parents, terminals."""
