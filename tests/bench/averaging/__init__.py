"""Rounds of averaging between real processes: their time, and what groups and computing beside them gain."""
