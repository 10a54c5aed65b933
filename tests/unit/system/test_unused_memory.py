"""Memory that was freed goes back to the system when it is asked to."""

import sys

import psutil
import pytest

from core.system.usage import return_unused_memory

BLOCK_BYTES = 4000
"""More than Python's own allocator takes, less than the C library maps."""
BLOCKS = 15_000
EVERY = 1000


@pytest.mark.skipif(sys.platform != "linux", reason="other C libraries give it back by themselves")
def test_freed_memory_below_what_is_held_is_returned():
    process = psutil.Process()
    blocks = [bytes(BLOCK_BYTES) for _ in range(BLOCKS)]
    held = blocks[::EVERY]
    del blocks
    kept = process.memory_info().rss
    return_unused_memory()
    assert kept - process.memory_info().rss > BLOCK_BYTES * BLOCKS / 2
    assert len(held) == BLOCKS // EVERY
