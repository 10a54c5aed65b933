"""The largest numbers only, with their places (Aji and Heafield 2017); the rest is carried on to the next round."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.averaging.codecs.halves import Bf16
from core.base.problems import RemoteProblem

KEPT_PART: Final = 32
"""One number in so many is sent, rounded up."""
EACH_BYTES: Final = 6
"""Length of a place and a bfloat16."""


class TopK:
    """At most 0.19 bytes a number: the places of those that are not zero, in order, then they themselves as bfloat16.

    What is sent has a relative error of at most 2^-8; what is not sent is taken for zero.
    """

    def max_bytes(self, numel: int, start: int = 0) -> int:  # noqa: ARG002 - the same everywhere
        """Length of the longest payload of `numel` numbers."""
        return -(-numel // KEPT_PART) * EACH_BYTES

    def encode(self, values: NDArray[np.float32], start: int = 0) -> memoryview:  # noqa: ARG002 - the same everywhere
        """The largest of `values`; one that is no number counts as the largest of all."""
        kept = -(-values.size // KEPT_PART)
        magnitudes = np.abs(values)
        magnitudes[np.isnan(magnitudes)] = np.inf
        largest = (
            np.argpartition(magnitudes, values.size - kept)[values.size - kept :] if kept else np.empty(0, np.int64)
        )
        places = np.sort(largest).astype("<u4")
        sent = np.frombuffer(Bf16().encode(values[places]), dtype="<u2")
        there = (sent & 0x7FFF) != 0
        return np.frombuffer(places[there].tobytes() + sent[there].tobytes(), dtype=np.uint8).data

    def decode_into(self, payload: memoryview, out: NDArray[np.float32], start: int = 0) -> None:  # noqa: ARG002
        """Write the numbers of `payload` to `out`, and zeros between them.

        Raises:
            RemoteProblem: the payload is too long, or its places are not in order or not in `out`.
        """
        count, rest = divmod(payload.nbytes, EACH_BYTES)
        if rest or payload.nbytes > self.max_bytes(out.size):
            raise RemoteProblem(f"a payload of {payload.nbytes} bytes for the largest of {out.size} numbers")
        places = np.frombuffer(payload[: 4 * count], dtype="<u4")
        if count and (int(places[-1]) >= out.size or not np.all(places[1:] > places[:-1])):
            raise RemoteProblem("places that are not in order, or beyond the end")
        numbers = np.empty(count, dtype=np.float32)
        Bf16().decode_into(payload[4 * count :], numbers)
        out.fill(0)
        out[places] = numbers
