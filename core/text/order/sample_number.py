"""The number of a sample: what it is follows from it, on every machine."""

from typing import NamedTuple


class SampleNumber(NamedTuple):
    """Names one sample of a collaboration, and with the pass what is drawn for it."""

    source: int
    """Place of the source in the manifest."""
    shard: int
    """Place of the shard in the source."""
    row: int
    """Place of the row in the shard."""
