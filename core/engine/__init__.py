"""The engine: one person's part in one collaboration, from the settings to the swarm."""
