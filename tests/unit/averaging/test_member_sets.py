"""Sets of members as strangers may write them."""

import tracemalloc
from random import Random

from core.averaging.messages import from_bits, to_bits

MEMORY_MAX = 8 << 20


def test_sets_that_strangers_invent_take_little_memory() -> None:
    random = Random(1)
    tracemalloc.start()
    try:
        for _ in range(5000):
            to_bits(from_bits(random.randbytes(32)))
        held_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held_bytes < MEMORY_MAX
