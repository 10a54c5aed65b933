"""Differences from a vector that all members hold, in place of the values themselves.

Parameters of peers that train together are near to each other and far from 0: an error in proportion to their
difference from a common state is much smaller than one in proportion to themselves.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.averaging.codecs.codec import Codec

SETTLE_MAX: Final = 16
"""Times that a decoded vector may change while it settles."""


class Relative:
    """Another codec, applied to differences from `reference`.

    The sum of reference and difference is rounded, so encoding it again might give a neighbouring code.  So what is
    decoded is encoded and decoded until it stays the same, everywhere by the same steps.  That is as a rule at once,
    and costs one more encoding and decoding.

    Args:
        codec: For the differences.
        reference: The whole vector, the same bits on all members.
    """

    def __init__(self, codec: Codec, reference: NDArray[np.float32]) -> None:
        self._codec = codec
        self._reference = reference

    def wire_bytes(self, numel: int, start: int = 0) -> int:
        """Length of the payload of `numel` numbers."""
        return self._codec.wire_bytes(numel, start)

    def encode(self, values: NDArray[np.float32], start: int = 0) -> memoryview:
        """The codec's payload of the differences."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._codec.encode(values - self._reference[start : start + values.size], start)

    def decode_into(self, payload: memoryview, out: NDArray[np.float32], start: int = 0) -> None:
        """Write the numbers of `payload` to `out`.

        Raises:
            RemoteProblem: the payload has another length.
        """
        reference = self._reference[start : start + out.size]
        numbers = np.empty(out.size, dtype=np.float32)
        self._sum(payload, reference, numbers, start)
        again = np.empty_like(numbers)
        for _ in range(SETTLE_MAX):
            self._sum(self.encode(numbers, start), reference, again, start)
            if again.tobytes() == numbers.tobytes():
                break
            numbers, again = again, numbers
        else:
            numbers = reference
        out[:] = numbers

    def _sum(self, payload: memoryview, reference: NDArray[np.float32], out: NDArray[np.float32], start: int) -> None:
        self._codec.decode_into(payload, out, start)
        with np.errstate(over="ignore", invalid="ignore"):
            out += reference
