"""Two bytes a number, little-endian, rounded to nearest, ties to even: IEEE half precision, and bfloat16.

A bfloat16 is the upper half of a float32.  A float32 whose exponent is lowered by 112 has a half's exponent and
fraction from bit 13 on: a multiplication by a power of two and some shifts convert, several times faster than numpy's
own conversion, and up to 90 times where the numbers are so small (below 2^-14, as gradients often are) that their
halves are subnormal.  The multiplication rounds those to multiples of 2^-37, which matters only as near as that to the
middle between two halves.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.averaging.codecs.codec import Codec, Vector

HALF_MAX: Final = float(np.finfo(np.float16).max)
"""The largest finite half."""
BFLOAT_MAX: Final = (2 - 2.0**-7) * 2.0**127
"""The largest finite bfloat16."""
HALF_SCALE: Final = np.float32(2.0**-112)
"""What lowers a float32's exponent to that of a half."""


class Fp16(Codec):
    """Two bytes a number; relative error at most 2^-11, absolute error at most 2^-25 + 2^-38 below 2^-14.

    Numbers beyond the largest finite half are clipped to it; what is not a number stays none.
    """

    def _length(self, numel: int, _start: int) -> int:
        return 2 * numel

    def _encode(self, values: Vector, _start: int) -> memoryview:
        if not values.size or not (values.max() <= HALF_MAX and values.min() >= -HALF_MAX):
            return np.clip(values, -HALF_MAX, HALF_MAX).astype("<f2").view(np.uint8).data
        bits = (values * HALF_SCALE).view(np.uint32)
        halves = rounded(bits, dropped=13)
        bits >>= 16
        bits &= 0x8000  # the sign
        halves |= bits
        return halves.astype("<u2").view(np.uint8).data

    def _decode(self, payload: memoryview, out: Vector, _start: int) -> None:
        halves = np.frombuffer(payload, dtype="<u2")
        if not halves.size or (halves & 0x7FFF).max() >= 0x7C00:  # not all are finite
            out[:] = halves.view("<f2")
            return
        bits = halves.view("<i2").astype(np.int32)
        bits <<= 13
        bits &= -0x7000_2000  # without the three copies of the sign below it
        np.multiply(bits.view(np.float32), 1 / HALF_SCALE, out=out)


class Bf16(Codec):
    """Two bytes a number, with float32's range; relative error at most 2^-8, absolute error at most 2^-134 near 0.

    Numbers beyond the largest finite one are clipped to it; what is not finite becomes no number.
    """

    def _length(self, numel: int, _start: int) -> int:
        return 2 * numel

    def _encode(self, values: Vector, _start: int) -> memoryview:
        if not values.size or np.abs(values).max() <= BFLOAT_MAX:
            return rounded(values.view(np.uint32), dropped=16).astype("<u2").view(np.uint8).data
        clipped = np.clip(values, np.float32(-BFLOAT_MAX), np.float32(BFLOAT_MAX))
        upper = rounded(clipped.view(np.uint32), dropped=16)
        upper[~np.isfinite(values)] = 0x7FC0
        return upper.astype("<u2").view(np.uint8).data

    def _decode(self, payload: memoryview, out: Vector, _start: int) -> None:
        np.left_shift(np.frombuffer(payload, dtype="<u2"), 16, out=out.view(np.uint32), dtype=np.uint32)


def rounded(bits: NDArray[np.uint32], *, dropped: int) -> NDArray[np.uint32]:
    """The bits of floats without the last `dropped` ones: to nearest, ties to even."""
    kept = bits >> np.uint32(dropped)
    kept &= 1
    kept += bits
    kept += (1 << dropped - 1) - 1  # just under half of the last kept bit; with that bit added, ties go to even
    kept >>= dropped
    return kept
