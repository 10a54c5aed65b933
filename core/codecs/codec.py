"""The port of all codecs, by which vectors of float32 become bytes for the wire, and the one that changes nothing."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final, TypeAlias

from core.base.arrays import np
from core.base.problems import RemoteProblem

if TYPE_CHECKING:
    from numpy.typing import NDArray

Vector: TypeAlias = "NDArray[np.float32]"


LEAST_STEP: Final = 2.0**-80
"""The least error that is stated of a number: squares of smaller ones are not in float32."""


def norm_of(values: Vector) -> float:
    """The Euclidean norm of a vector; not a number, or infinite, where a number is, or squares go beyond float32."""
    with np.errstate(over="ignore", invalid="ignore"):
        return math.sqrt(np.dot(values, values))


class Codec(ABC):
    """Turns vectors of float32 into bytes and back.  A codec keeps no state between calls.

    `start` is where in the whole vector the numbers lie: a codec may treat its regions differently.  Payloads may
    differ in length, so a plan counts on the longest.
    """

    def max_bytes(self, numel: int, start: int = 0) -> int:
        """Length of the longest payload of the `numel` numbers from `start` on."""
        return self._length(numel, start)

    def encode(self, values: Vector, start: int = 0) -> memoryview:
        """The payload of `values`, shape (numel,).

        It may be a view of `values`, which must then stay unchanged until the payload has been used.
        """
        return self._encode(values, start)

    def decode_into(self, payload: memoryview, out: Vector, start: int = 0) -> None:
        """Write the numbers of `payload` to `out`, shape (numel,).

        Raises:
            RemoteProblem: the payload does not hold as many numbers as `out` has; nothing was written.
        """
        if not self._fits(payload.nbytes, self._length(out.size, start)):
            raise RemoteProblem(f"a payload of {payload.nbytes} bytes for {out.size} numbers")
        self._decode(payload, out, start)

    @abstractmethod
    def error(self, values: Vector, start: int = 0) -> float:
        """Upper bound on the Euclidean norm of what encoding has lost of the numbers that decoded to `values`."""

    def _fits(self, length: int, longest: int) -> bool:
        """Whether a payload may have this length."""
        return length == longest

    @abstractmethod
    def _length(self, numel: int, _start: int) -> int: ...

    @abstractmethod
    def _encode(self, values: Vector, _start: int) -> memoryview: ...

    @abstractmethod
    def _decode(self, payload: memoryview, out: Vector, _start: int) -> None: ...


class Raw(Codec):
    """Little-endian float32: four bytes a number; exact.  On little-endian machines encoding copies nothing."""

    def error(self, values: Vector, start: int = 0) -> float:
        """Encoding loses nothing of such numbers."""
        del values, start
        return 0.0

    def _length(self, numel: int, _start: int) -> int:
        return 4 * numel

    def _encode(self, values: Vector, _start: int) -> memoryview:
        return np.ascontiguousarray(values, dtype="<f4").view(np.uint8).data

    def _decode(self, payload: memoryview, out: Vector, _start: int) -> None:
        out[:] = np.frombuffer(payload, dtype="<f4")
