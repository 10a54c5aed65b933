"""What the engine shows: snapshots, reports and hints."""
