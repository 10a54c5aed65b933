"""The ledger of contributions: kept locally, merged with what other peers know."""
