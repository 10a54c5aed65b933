"""How the mean of a round is kept for peers that missed it: size of its chunks, then each one's length and payload.

Encoding what was decoded gives the same bytes (`docs/decisions/0008-codecs.md`), in the chunks in which it was encoded:
a codec may have a scale for each chunk, and plans cut chunks smaller than the manifest does.  The file has the largest
chunks of which the codec gives back the bits of this mean.  That follows from the bits alone, so all members of a round
make the same file of its mean, and a peer that reads it has the bits that they have.

What the worst sender of a file gains with its first number: nothing but a file that is refused, or one of as many
numbers as any other.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from core.averaging.plan import chunk_sizes
from core.base.arrays import np
from core.base.problems import RemoteProblem
from core.codecs.codec import Codec, Vector

_LENGTH = struct.Struct("<I")


class MeanForm:
    """The form of the means of one collaboration.

    Args:
        codec: Codec of its rounds.
        chunk_numel: Numbers in a chunk, as the manifest has it.
        numel: Numbers in a mean.
    """

    def __init__(self, codec: Codec, *, chunk_numel: int, numel: int) -> None:
        self._codec = codec
        self._numel = numel
        self._sizes = chunk_sizes(chunk_numel)
        self.bytes_max: int = _LENGTH.size + max(map(self._chunks_bytes, self._sizes))
        """Length of the longest file, bytes."""

    def pieces(self, mean: Vector) -> Iterator[bytes]:
        """The file of a mean, shape (numel,), a chunk at a time.

        Raises:
            ValueError: the codec gives back these bits in no chunks, so they do not come from a round with it.
        """
        size = next((size for size in self._sizes if self._gives_back(mean, size)), 0)
        if not size:
            raise ValueError("its codec changes its numbers")
        yield _LENGTH.pack(size)
        for start in range(0, self._numel, size):
            payload = bytes(self._codec.encode(mean[start : start + size], start))
            yield _LENGTH.pack(len(payload)) + payload

    def read(self, read: Callable[[int], bytes], out: Vector) -> None:
        """Write the mean in a file to `out`, shape (numel,).

        Args:
            read: Returns so many of the next bytes, or fewer at the file's end.
            out: What was written there is worthless if this raises.

        Raises:
            RemoteProblem: it is not a mean of this collaboration.
        """
        size = self._number(read)
        if size not in self._sizes:
            raise RemoteProblem("the mean's chunks have a size that no plan allows")
        for start in range(0, self._numel, size):
            part = out[start : start + size]
            length = self._number(read)
            if length > self._codec.max_bytes(part.size, start):
                raise RemoteProblem("a mean with a chunk that is too long")
            payload = read(length)
            if len(payload) < length:
                raise RemoteProblem("a mean that ends too early")
            self._codec.decode_into(memoryview(payload), part, start)
        if read(1):
            raise RemoteProblem("a mean with more numbers than the model has")

    def _gives_back(self, mean: Vector, size: int) -> bool:
        """Whether the codec gives back the bits of a mean in chunks of this size."""
        again = np.empty(min(size, self._numel), dtype=np.float32)
        for start in range(0, self._numel, size):
            values = np.ascontiguousarray(mean[start : start + size])
            self._codec.decode_into(self._codec.encode(values, start), again[: values.size], start)
            if not np.array_equal(again[: values.size].view(np.uint32), values.view(np.uint32)):
                return False
        return True

    def _chunks_bytes(self, size: int) -> int:
        """Length of all chunks of this size and of what stands before them, at most, bytes."""
        starts = range(0, self._numel, size)
        return sum(_LENGTH.size + self._codec.max_bytes(min(size, self._numel - start), start) for start in starts)

    @staticmethod
    def _number(read: Callable[[int], bytes]) -> int:
        """The next number in a file.

        Raises:
            RemoteProblem: the file ends before it.
        """
        head = read(_LENGTH.size)
        if len(head) < _LENGTH.size:
            raise RemoteProblem("a mean that ends too early")
        return int(_LENGTH.unpack(head)[0])
