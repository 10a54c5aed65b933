"""The pages that found a collaboration: what is learned, who may join, where it is reached, and the link."""
