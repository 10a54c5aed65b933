"""Who reduces which share, and who gives how much of its contribution (S000 3.1 and appendix B)."""
