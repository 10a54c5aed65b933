"""How the mean of a round is kept for peers that missed it: the payload of each chunk as on the wire, after its length.

Encoding what was decoded gives the same bytes (`docs/decisions/0008-codecs.md`), so all members of a round make the
same file of its mean, and a peer that reads it has the bits that they have.
"""

import struct
from collections.abc import Callable, Iterator

import numpy as np

from core.averaging.codecs.codec import Codec, Vector
from core.base.problems import RemoteProblem

_LENGTH = struct.Struct("<I")


class MeanForm:
    """The form of the means of one collaboration.

    Args:
        codec: Of its rounds.
        chunk_numel: Numbers in a chunk.
        numel: Numbers in a mean.
    """

    def __init__(self, codec: Codec, *, chunk_numel: int, numel: int) -> None:
        self._codec = codec
        self._numel = numel
        self._starts = range(0, numel, chunk_numel)

    @property
    def bytes_max(self) -> int:
        """Length of the longest file, bytes."""
        return sum(_LENGTH.size + self._codec.max_bytes(self._count(start), start) for start in self._starts)

    def pieces(self, mean: Vector) -> Iterator[bytes]:
        """The file of a mean, shape (numel,), a chunk at a time.

        Raises:
            ValueError: the codec does not give back these bits, so they do not come from a round with it.
        """
        for start in self._starts:
            values = mean[start : start + self._count(start)]
            payload = bytes(self._codec.encode(values, start))
            again = np.empty(values.size, dtype=np.float32)
            self._codec.decode_into(memoryview(payload), again, start)
            if not np.array_equal(again.view(np.uint32), np.ascontiguousarray(values).view(np.uint32)):
                raise ValueError(f"a mean that its codec changes, from number {start} on")
            yield _LENGTH.pack(len(payload)) + payload

    def read(self, read: Callable[[int], bytes], out: Vector) -> None:
        """Write the mean in a file to `out`, shape (numel,).

        Args:
            read: Returns so many of the next bytes, or fewer at the file's end.
            out: What was written there is worthless if this raises.

        Raises:
            RemoteProblem: it is not a mean of this collaboration.
        """
        for start in self._starts:
            head = read(_LENGTH.size)
            length = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else 0
            if length > self._codec.max_bytes(self._count(start), start):
                raise RemoteProblem("a mean with a chunk that is too long")
            payload = read(length)
            if len(head) < _LENGTH.size or len(payload) < length:
                raise RemoteProblem("a mean that ends too early")
            self._codec.decode_into(memoryview(payload), out[start : start + self._count(start)], start)
        if read(1):
            raise RemoteProblem("a mean with more numbers than the model has")

    def _count(self, start: int) -> int:
        return min(self._starts.step, self._numel - start)
