"""Tensors of at most 2^16 numbers in half precision, larger ones in eight bits (S002's run).

Small tensors are biases, norms and their like: few numbers in all, and each of them matters (hivemind's
SizeAdaptiveCompression with a threshold of 2^16 + 1).
"""

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from core.codecs.codec import Codec, Vector
from core.codecs.halves import Fp16
from core.codecs.uniform import Uniform8

SMALL_NUMEL_MAX: Final = 1 << 16


class Adaptive(Codec):
    """Between 1 and 2 bytes a number; each number has the error of `Fp16` or of `Uniform8`.

    What is encoded at a time may begin and end anywhere, and holds parts of several tensors; neighbours of one kind
    make up one region, and each region's part is encoded by itself.

    Args:
        layout: Sizes of the tensors in the vector, in order.

    Raises:
        ValueError: the layout is empty, or a size is negative.
    """

    def __init__(self, layout: Sequence[int]) -> None:
        if not layout or min(layout) < 0:
            raise ValueError("an adaptive codec needs the sizes of the tensors")
        codecs = (Fp16(), Uniform8())
        self._ends: list[int] = []
        self._codecs: list[Codec] = []
        end = 0
        for numel in layout:
            end += numel
            codec = codecs[numel > SMALL_NUMEL_MAX]
            if self._codecs and self._codecs[-1] is codec:
                self._ends[-1] = end
            else:
                self._ends.append(end)
                self._codecs.append(codec)

    def error(self, values: Vector, start: int = 0) -> float:
        """Each region loses what its codec does."""
        parts = self._parts(values.size, start)
        return math.hypot(*(codec.error(values[begin:end]) for codec, begin, end in parts))

    def _length(self, numel: int, start: int) -> int:
        return sum(codec.max_bytes(end - begin) for codec, begin, end in self._parts(numel, start))

    def _encode(self, values: Vector, start: int) -> memoryview:
        parts = list(self._parts(values.size, start))
        if len(parts) == 1:
            return parts[0][0].encode(values)
        payloads = [codec.encode(values[begin:end]) for codec, begin, end in parts]
        return memoryview(b"".join(payloads))

    def _decode(self, payload: memoryview, out: Vector, start: int) -> None:
        place = 0
        for codec, begin, end in self._parts(out.size, start):
            length = codec.max_bytes(end - begin)
            codec.decode_into(payload[place : place + length], out[begin:end])
            place += length

    def _parts(self, numel: int, start: int) -> Iterator[tuple[Codec, int, int]]:
        """Codec, begin and end of each region within the numbers."""
        if start < 0 or start + numel > self._ends[-1]:
            raise ValueError(f"{numel} numbers from {start} on, of a vector of {self._ends[-1]}")
        place, region = start, bisect_right(self._ends, start)
        while place < start + numel:
            end = min(self._ends[region], start + numel)
            yield self._codecs[region], place - start, end - start
            place, region = end, region + 1
