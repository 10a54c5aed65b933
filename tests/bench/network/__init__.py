"""Lines and streams: limited lines in namespaces, and what they carry."""
