"""The share that each member reduces, and the part of its contribution that it gives (S000 3.1 and appendix B)."""
