"""The port of all codecs: vectors of float32 become bytes for the wire, and numbers again."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.base.problems import RemoteProblem


class Codec(Protocol):
    """Turns vectors of float32 into bytes and back.  A codec keeps no state between calls.

    `start` is where in the whole vector the numbers lie: a codec may treat its regions differently.  Payloads may
    differ in length, so a plan counts on the longest.
    """

    def max_bytes(self, numel: int, start: int = 0) -> int:
        """Length of the longest payload of `numel` numbers."""

    def encode(self, values: NDArray[np.float32], start: int = 0) -> memoryview:
        """The payload of `values`, shape (numel,).

        It may be a view of `values`, which must then stay unchanged until the payload has been used.
        """

    def decode_into(self, payload: memoryview, out: NDArray[np.float32], start: int = 0) -> None:
        """Write the numbers of `payload` to `out`, shape (numel,).

        Raises:
            RemoteProblem: the payload is none of as many numbers as `out` has; nothing was written.
        """


def check_length(payload: memoryview, expected: int) -> None:
    """Refuse a payload of the wrong length.

    Raises:
        RemoteProblem: the length is not `expected` bytes.
    """
    if payload.nbytes != expected:
        raise RemoteProblem(f"a payload of {payload.nbytes} bytes where {expected} belong")
