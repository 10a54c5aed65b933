"""Who gave what: kept locally, merged with what others know."""
