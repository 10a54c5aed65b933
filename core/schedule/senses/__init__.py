"""What the system tells, one file per system; each question has an answer that means "not known"."""
