"""Text as a stream of documents, shuffled while it streams."""
