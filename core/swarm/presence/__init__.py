"""Who is here, at which state, and who follows whom."""
