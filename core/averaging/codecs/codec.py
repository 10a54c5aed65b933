"""The port of all codecs, by which vectors of float32 become bytes for the wire, and the one that changes nothing."""

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


class Raw:
    """Little-endian float32: four bytes a number; exact.  On little-endian machines encoding copies nothing."""

    def max_bytes(self, numel: int, start: int = 0) -> int:  # noqa: ARG002 - the same everywhere
        """Length of the payload of `numel` numbers."""
        return 4 * numel

    def encode(self, values: NDArray[np.float32], start: int = 0) -> memoryview:  # noqa: ARG002 - the same everywhere
        """A view of `values` as bytes."""
        return np.ascontiguousarray(values, dtype="<f4").view(np.uint8).data

    def decode_into(self, payload: memoryview, out: NDArray[np.float32], start: int = 0) -> None:  # noqa: ARG002
        """Write the numbers of `payload` to `out`.

        Raises:
            RemoteProblem: the payload has another length.
        """
        check_length(payload, self.max_bytes(out.size))
        if out.dtype == "<f4" and out.flags.c_contiguous:
            out.view(np.uint8)[:] = np.frombuffer(payload, dtype=np.uint8)  # a plain copy, however it is aligned
        else:
            out[:] = np.frombuffer(payload, dtype="<f4")


def check_length(payload: memoryview, expected: int) -> None:
    """Refuse a payload of the wrong length.

    Raises:
        RemoteProblem: the length is not `expected` bytes.
    """
    if payload.nbytes != expected:
        raise RemoteProblem(f"a payload of {payload.nbytes} bytes where {expected} belong")
