"""Shards of the data shared between peers (S000, appendix H); `docs/protocols/shards.md` tells how."""
