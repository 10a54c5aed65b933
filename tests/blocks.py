"""What a file takes of the disk, where the system counts it."""

from pathlib import Path

import pytest

counts_blocks = pytest.mark.skipif(
    not hasattr(Path.stat(Path("/")), "st_blocks"), reason="this system does not count blocks"
)
"""For tests that ask `taken_bytes`."""


def taken_bytes(path: Path) -> int:
    """What the disk holds of a file."""
    return path.stat().st_blocks * 512
