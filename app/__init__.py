"""The window: shows an engine and passes on what the person wants.  It computes nothing, and keeps one snapshot."""
