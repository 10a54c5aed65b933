"""How much of the disk files take, so that a person's limit counts what the disk really holds."""

from typing import Final

CLUSTER_BYTES: Final = 4096
"""Size of the pieces in which most file systems give room; a small file takes a whole one."""


def on_disk(size_bytes: int) -> int:
    """The room that a file of this length takes."""
    return -(-size_bytes // CLUSTER_BYTES) * CLUSTER_BYTES
