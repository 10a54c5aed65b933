"""One person's files on disk: where they lie, this computer's identity, the settings."""
