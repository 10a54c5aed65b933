"""IEEE half precision, little-endian.

A float32 whose exponent is lowered by 112 has a half's bits in its upper part: a multiplication by a power of two and
some shifts convert, several times faster than numpy's own conversion, and up to 90 times where the numbers are so
small (below 2^-14, as gradients often are) that their halves are subnormal.  The multiplication rounds those to
multiples of 2^-37, which matters only as near as that to the middle between two halves.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.averaging.codecs.codec import check_length

_WIRE: Final = np.dtype("<f2")
LARGEST: Final = 65_504.0
"""The largest finite half.  Numbers beyond it are sent as it, not as infinity."""
_DOWN: Final = np.float32(2.0**-112)
_UP: Final = np.float32(2.0**112)
_DROPPED: Final = 13
"""Bits by which a float32's fraction is longer than a half's."""
_JUST_UNDER_HALF: Final = (1 << _DROPPED - 1) - 1
"""Of the last kept bit; with that bit added, ties go to even."""
_SIGN: Final = 0x8000
_SIGN_ABOVE: Final = 16
"""A float32's sign stands so many bits higher than a half's."""
_MAGNITUDE: Final = 0x7FFF
_INFINITE: Final = 0x7C00
_KEPT: Final = -0x7000_2000
"""As 32 bits: the sign and the half's other bits once they are shifted into place, without the copies of the sign."""


class Fp16:
    """Two bytes a number; relative error at most 2^-11, absolute error at most 2^-25 + 2^-38 below 2^-14."""

    def max_bytes(self, numel: int, start: int = 0) -> int:  # noqa: ARG002 - the same everywhere
        """Length of the payload of `numel` numbers."""
        return numel * _WIRE.itemsize

    def encode(self, values: NDArray[np.float32], start: int = 0) -> memoryview:  # noqa: ARG002 - the same everywhere
        """The halves nearest to `values`, ties to even, clipped to the finite ones; what is not a number stays none."""
        if not values.size or not (values.max() <= LARGEST and values.min() >= -LARGEST):
            return np.clip(values, -LARGEST, LARGEST).astype(_WIRE).view(np.uint8).data
        bits = (values * _DOWN).view(np.uint32)
        work = bits >> _DROPPED
        work &= 1
        work += _JUST_UNDER_HALF
        bits += work
        np.right_shift(bits, _SIGN_ABOVE, out=work)
        work &= _SIGN
        bits >>= _DROPPED
        bits |= work
        return bits.astype("<u2").view(np.uint8).data

    def decode_into(self, payload: memoryview, out: NDArray[np.float32], start: int = 0) -> None:  # noqa: ARG002
        """Write the numbers of `payload` to `out`.

        Raises:
            RemoteProblem: the payload has another length.
        """
        check_length(payload, self.max_bytes(out.size))
        halves = np.frombuffer(payload, dtype="<u2")
        if not halves.size or (halves & _MAGNITUDE).max() >= _INFINITE:
            out[:] = halves.view(_WIRE)
            return
        bits = halves.view("<i2").astype(np.int32)
        bits <<= _DROPPED
        bits &= _KEPT
        np.multiply(bits.view(np.float32), _UP, out=out)
