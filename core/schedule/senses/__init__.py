"""Questions to the operating system, one file per system; each has an answer that means "not known"."""
