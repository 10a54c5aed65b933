"""Shuffling a stream that is too long to hold (S000, section 3.3, dataset streaming)."""

from collections.abc import Iterable, Iterator
from random import Random
from typing import Final, TypeVar

T = TypeVar("T")

BUFFER_SIZE: Final = 10_000
FIRST: Final = 512
"""Elements read before the first is drawn, so that what stands together in a text does not come together."""
GROWTH: Final = 2
"""Elements read for each that is drawn while the buffer is not full: reading costs a few percent of training, and a
start soon runs at full speed."""


def shuffled(stream: Iterable[T], random: Random, *, size: int = BUFFER_SIZE) -> Iterator[T]:
    """Every element of `stream` exactly once, in random order.

    Elements are drawn at random from a buffer, and a used one is replaced by the next of the stream.  The first element
    comes as soon as `FIRST` have been read; then the buffer grows by one for each that is drawn, until it is full.

    Args:
        stream: Any number of elements.
        random: Decides the order.
        size: Elements kept in memory.
    """
    if size < 1:
        raise ValueError("a shuffle buffer holds at least one element")
    buffer: list[T] = []
    for count, element in enumerate(stream, start=1):
        buffer.append(element)
        if len(buffer) >= size or (count >= FIRST and count % GROWTH == 0):
            yield _drawn(buffer, random)
    while buffer:
        yield _drawn(buffer, random)


def _drawn(buffer: list[T], random: Random) -> T:
    index = random.randrange(len(buffer))
    buffer[index], buffer[-1] = buffer[-1], buffer[index]
    return buffer.pop()
