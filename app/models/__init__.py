"""Tables of the last snapshot, for Qt views."""
