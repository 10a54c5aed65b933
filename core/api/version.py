"""The version of this program, as people see it."""

VERSION = "0.1.0"
