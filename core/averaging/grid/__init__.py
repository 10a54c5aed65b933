"""Averaging in small groups that alternate until everybody holds the mean of all (S000 3.2 and appendix C)."""
