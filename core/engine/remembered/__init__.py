"""What the engine remembers over restarts: collaborations, days, happenings, notices."""
