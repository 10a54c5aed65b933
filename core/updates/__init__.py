"""Updates: signed versions of the program are looked for, got, tried, and gone back from where they do not start."""
