"""What one person's Potluck keeps on disk: where it lies, who this computer is, what was set."""
