"""The reader: a child of the worker that turns shards of text into blocks of rows."""
