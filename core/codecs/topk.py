"""The largest numbers only, with their places (Aji and Heafield 2017); the rest is carried on to the next round."""

from __future__ import annotations

import math
from typing import Final

from core.base.arrays import np
from core.base.problems import RemoteProblem
from core.codecs.codec import LEAST_STEP, Codec, Vector
from core.codecs.halves import Bf16

KEPT_PART: Final = 32
"""One number in so many is sent, rounded up."""
EACH_BYTES: Final = 6
"""Length of a place and a bfloat16."""


class TopK(Codec):
    """At most 0.19 bytes a number: the places of those that are not zero, in order, then they themselves as bfloat16.

    What is sent has a relative error of at most 2^-8; what is not sent is taken for zero.
    A NaN counts as the largest of all.
    """

    def error(self, values: Vector, start: int = 0) -> float:
        """What was not sent is at most as large as the least that was, and rounded."""
        del start
        there = np.abs(values[values != 0])
        least = float(there.min()) * 1.01 if there.size == -(-values.size // KEPT_PART) else 0.0
        return Bf16().error(there) + (least + LEAST_STEP) * math.sqrt(values.size)

    def _length(self, numel: int, _start: int) -> int:
        return -(-numel // KEPT_PART) * EACH_BYTES

    def _encode(self, values: Vector, _start: int) -> memoryview:
        if not values.size:
            return memoryview(b"")
        kept = -(-values.size // KEPT_PART)
        magnitudes = np.abs(values)
        magnitudes[np.isnan(magnitudes)] = np.inf
        places = np.sort(np.argpartition(magnitudes, -kept)[-kept:]).astype("<u4")
        sent = np.frombuffer(Bf16().encode(values[places]), dtype="<u2")
        there = (sent & 0x7FFF) != 0
        return np.frombuffer(places[there].tobytes() + sent[there].tobytes(), dtype=np.uint8).data

    def _fits(self, length: int, longest: int) -> bool:
        return length <= longest and length % EACH_BYTES == 0

    def _decode(self, payload: memoryview, out: Vector, _start: int) -> None:
        count = payload.nbytes // EACH_BYTES
        places = np.frombuffer(payload[: 4 * count], dtype="<u4")
        if count and (int(places[-1]) >= out.size or not np.all(places[1:] > places[:-1])):
            raise RemoteProblem("places that are not in order, or beyond the end")
        numbers = np.empty(count, dtype=np.float32)
        Bf16().decode_into(payload[4 * count :], numbers)
        out.fill(0)
        out[places] = numbers
