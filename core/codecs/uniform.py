"""Eight or four bits a number, evenly spaced within each block; the largest magnitude is the last level.

Of a scale only so many bits are used that a level times it is exact: encoding what was decoded gives the same scale and
the same levels again.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from core.base.arrays import np
from core.codecs.blocks import Blockwise, Bytes, Matrix, Scales

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROUND: Final = 1.5 * 2.0**23
"""A number added to it is rounded to the nearest whole one, ties to even, which stands in the sum's lower bits."""


class Uniform8(Blockwise):
    """1.004 bytes a number; absolute error at most 1/254 of the block's largest magnitude, plus 0.1 % of that.

    For normally distributed numbers the relative error (of norms) is 0.008.
    """

    BLOCK = 1024
    SCALE_BYTES = 4
    CODE_BITS = 8

    def _lost(self, sizes: Matrix, peaks: Scales) -> float:
        return half_steps(sizes, peaks, levels=127)

    def _pack(self, blocks: Matrix, scales: Scales, codes: Bytes) -> None:
        work = np.abs(blocks)
        scales[:] = even_steps(work.max(axis=1), levels=127, dropped_bits=14)
        np.multiply(blocks, (1 / scales)[:, None], out=work)
        work += ROUND
        np.copyto(codes, work.reshape(-1).view(np.uint32), casting="unsafe")  # the lowest byte: -127 to 127

    def _unpack(self, scales: Scales, codes: Bytes, blocks: Matrix) -> None:
        np.multiply(codes.view(np.int8).reshape(blocks.shape), scales[:, None], out=blocks)


class Uniform4(Blockwise):
    """0.53 bytes a number; absolute error at most 0.072 of the block's largest magnitude.

    For normally distributed numbers the relative error (of norms) is 0.11.  It is meant for contributions that carry
    their error on: of the error that one round makes, the next makes up (`core.averaging.feedback`).  Scales are
    bfloat16; levels are -7 to 7, and their codes 1 to 15.
    """

    BLOCK = 64
    SCALE_BYTES = 2
    CODE_BITS = 4

    def _lost(self, sizes: Matrix, peaks: Scales) -> float:
        return half_steps(sizes, peaks, levels=7)

    @cached_property
    def _pairs(self) -> NDArray[np.complex64]:
        """The two levels of each byte, the lower half's first, shape (256,)."""
        codes = np.arange(256)
        levels = np.stack([codes & 15, codes >> 4], axis=1) - 8
        return levels.astype(np.float32).reshape(-1).view(np.complex64)

    def _pack(self, blocks: Matrix, scales: Scales, codes: Bytes) -> None:
        rows, length = blocks.shape
        if length % 2:
            blocks = np.pad(blocks, ((0, 0), (0, 1)))
        work = np.abs(blocks).reshape(-1)
        peaks = np.maximum.reduceat(work, np.arange(0, work.size, work.size // rows))
        scales[:] = even_steps(peaks, levels=7, dropped_bits=16)
        np.multiply(blocks, (1 / scales)[:, None], out=work.reshape(blocks.shape))
        work += ROUND + np.float32(8)
        pairs = work.view(np.uint32).astype("<u4", copy=False).view("<u8")
        np.copyto(codes, pairs | pairs >> 28 & 0xF0, casting="unsafe")

    def _unpack(self, scales: Scales, codes: Bytes, blocks: Matrix) -> None:
        levels = np.empty(2 * codes.size, dtype=np.float32)
        np.take(self._pairs, codes, out=levels.view(np.complex64), mode="clip")
        np.multiply(levels[: blocks.size].reshape(blocks.shape), scales[:, None], out=blocks)


def half_steps(sizes: Matrix, peaks: Scales, *, levels: int) -> float:
    """Sum of squares of half a step for each number; a step is not quite what the peak makes it."""
    step = peaks.astype(np.float64) / levels
    return float(1.01 / 4 * sizes.shape[1] * (step @ step))


def even_steps(peaks: NDArray[np.float32], *, levels: int, dropped_bits: int) -> Scales:
    """The distance of neighbouring levels, for each block, that makes `levels` of them reach its largest magnitude.

    Its last `dropped_bits` bits are 0, so that a level times it is exact, and a peak that is off by a little gives the
    same one.  It may be too small by 2^(dropped_bits - 24), which is less than half a level at the peak.  Blocks of
    huge numbers get the largest such distance whose levels are all finite.  No number where the peak is not finite.

    Args:
        peaks: The largest magnitude of each block.
        levels: Above 0; as many are below.
        dropped_bits: At least the bits of `levels`, and less than 23 without them.
    """
    ones = np.uint32((1 << dropped_bits) - 1)
    steps = peaks / np.float32(levels)
    bits = steps.view(np.uint32)
    bits += np.uint32(1 << dropped_bits - 1)
    bits &= ~ones
    largest = np.array([np.finfo(np.float32).max / levels], dtype=np.float32)
    largest.view(np.uint32)[0] &= ~ones
    np.clip(steps, np.finfo(np.float32).tiny, largest[0], out=steps)
    steps[~np.isfinite(peaks)] = np.nan
    return steps
