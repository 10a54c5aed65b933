"""Two bytes a number, little-endian, rounded to nearest, ties to even: half precision with a scale, and bfloat16.

A bfloat16 is the upper half of a float32.  A float32 whose exponent is lowered by 112 has a half's exponent and
fraction from bit 13 on: a multiplication by a power of two and some shifts convert, several times faster than numpy's
own conversion, and up to 90 times where numbers are so small that their halves are subnormal.  The multiplication
rounds those to multiples of 2^-37 of the scale, which matters only as near as that to the middle between two halves.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from core.base.arrays import np
from core.codecs.codec import LEAST_STEP, Codec, Vector, norm_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

HALF_MAX: Final = 65_504.0
"""The largest finite half."""
BFLOAT_MAX: Final = (2 - 2.0**-7) * 2.0**127
"""The largest finite bfloat16."""
LOWERED: Final = 112
"""A float32's exponent is by so much greater than that of a half."""
SCALES: Final = range(-141, 15)
"""Exponents that a scale may have: from that of the smallest normal float32, to what a multiplication still reaches."""
NO_SCALE: Final = 0x7FFF
"""What stands in the place of the scale where a number is not finite."""


class Fp16(Codec):
    """Two bytes a number and two for all; relative error at most 2^-11, absolute error at most 2^-39 of the largest.

    The numbers are halves times a power of two, which lets the largest magnitude have a half's greatest exponent: the
    scale, whose exponent follows the halves.  Numbers beyond 65,504 * 2^14 are clipped to it.  Where one is not
    finite, all decode to no numbers.
    """

    def error(self, values: Vector, start: int = 0) -> float:
        """A half loses up to 2^-11 of itself, and where it is small up to 2^-39 of the largest."""
        del start
        peak = float(np.abs(values).max(initial=0.0))
        return 1.001 * 2.0**-11 * norm_of(values) + (2.0**-38 * peak + LEAST_STEP) * math.sqrt(values.size)

    def _length(self, numel: int, _start: int) -> int:
        return 2 * numel + 2

    def _encode(self, values: Vector, _start: int) -> memoryview:
        peak = float(max(values.max(), -values.min())) if values.size else 0.0
        if not math.isfinite(peak):
            return np.full(values.size + 1, NO_SCALE, dtype="<u2").view(np.uint8).data
        fraction, exponent = math.frexp(peak)
        rounds_up = fraction >= 1 - 2.0**-12  # to the next power of two
        scale = min(max(exponent - 16 + rounds_up, SCALES.start), SCALES.stop - 1)
        most = HALF_MAX * 2.0**scale
        if peak > most:
            values = np.clip(values, np.float32(-most), np.float32(most))
        lowered = np.zeros(values.size + 1, dtype=np.float32)  # one more, for the scale
        np.multiply(values, np.float32(2.0 ** (-LOWERED - scale)), out=lowered[:-1])
        bits = lowered.view(np.uint32)
        halves = rounded(bits, dropped=13)
        bits >>= 16
        bits &= 0x8000  # the sign
        halves |= bits
        halves[-1] = scale & 0xFFFF
        return halves.astype("<u2").view(np.uint8).data

    def _decode(self, payload: memoryview, out: Vector, _start: int) -> None:
        halves = np.frombuffer(payload, dtype="<i2")
        scale = int(halves[-1])
        if scale not in SCALES:
            out.fill(np.nan)
            return
        bits = halves[:-1].astype(np.int32)
        bits <<= 13
        bits &= -0x7000_2000  # without the three copies of the sign below it
        np.multiply(bits.view(np.float32), np.float32(2.0 ** (LOWERED + scale)), out=out)


class Bf16(Codec):
    """Two bytes a number, with float32's range; relative error at most 2^-8, absolute error at most 2^-134 near 0.

    Numbers beyond the largest finite one are clipped to it; what is not finite becomes no number.
    """

    def error(self, values: Vector, start: int = 0) -> float:
        """A number loses up to 2^-8 of itself."""
        del start
        return 1.01 * 2.0**-8 * norm_of(values) + LEAST_STEP * math.sqrt(values.size)

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
