"""Text of the collaboration that is served: who may read it, which shards are held, and the organiser's own."""
