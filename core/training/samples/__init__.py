"""Samples beside training: read ahead, as blocks from the reader or from memory."""
