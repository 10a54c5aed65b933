"""Into how long chunks a vector is cut: short enough that a share's pipeline fills and drains quickly."""

from typing import Final

BLOCK_NUMEL: Final = 4096
"""Codecs that work in blocks have blocks of so many numbers; longer chunks are whole multiples of it."""
SHARE_CHUNKS: Final = 16
"""So many chunks has an equal share: filling and draining then costs some hundredths of the round."""
CHUNK_NUMEL_MIN: Final = 256


def chunk_numel_for(numel: int, members: int, ceiling: int) -> int:
    """Numbers in a chunk; the same on every machine.

    Args:
        numel: Numbers in the vector.
        members: Of the group.
        ceiling: The manifest's number, which is never exceeded.
    """
    wanted = numel // (SHARE_CHUNKS * max(1, members))
    if wanted >= BLOCK_NUMEL:
        wanted = (wanted + BLOCK_NUMEL // 2) // BLOCK_NUMEL * BLOCK_NUMEL
    else:
        wanted = 1 << max(wanted, CHUNK_NUMEL_MIN).bit_length() - 1
    return min(wanted, ceiling)
