"""Averaging in small groups that alternate until all members hold the mean of all (S000 3.2 and appendix C)."""
