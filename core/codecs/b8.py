"""Eight bits a number, spaced like the numbers themselves: blockwise dynamic quantisation (Dettmers et al. 2022).

A block of 4,096 is divided by the number of largest magnitude in it, which thus becomes 1, and each result is given the
nearest of 256 codes: 0, 1 and, for each power of ten from 10^-6 to 1, twice as many as for the one below.  Their map
has no -1, so the divisor keeps its sign here; otherwise what was decoded would have another largest magnitude.

The nearest code is looked up by the upper 16 bits, which tell numbers apart by 1/128; near the middle between two codes
it is the one nearest to the middle of those that share these bits.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from core.base.arrays import np
from core.codecs.blocks import Blockwise, Bytes, Matrix, Scales

if TYPE_CHECKING:
    from numpy.typing import NDArray


LARGE_PART: Final = 0.05
"""Times the largest magnitude: numbers beyond it lose up to `LARGE_LOSS` of that magnitude, others `SMALL_LOSS`."""
LARGE_LOSS: Final = 0.009
SMALL_LOSS: Final = 0.0017


def dynamic_map() -> NDArray[np.float32]:
    """The 256 codes' numbers in ascending order, shape (256,)."""
    positive = []
    for decade in range(7):
        edges = np.linspace(0.1, 1.0, 2**decade + 1)
        positive.append((edges[:-1] + edges[1:]) / 2 * 10.0 ** (decade - 6))
    above = np.concatenate(positive)
    return np.sort(np.concatenate([-above, above, [0.0, 1.0]])).astype(np.float32)


class Dynamic8(Blockwise):
    """1.001 bytes a number; absolute error at most 0.009 of the block's largest magnitude.

    Of numbers below a tenth of that magnitude it is at most 0.0017 of it, and so on, down to 10^-6.  For normally
    distributed numbers the relative error (of norms) is 0.013.
    """

    BLOCK = 4096
    SCALE_BYTES = 4
    CODE_BITS = 8

    def _lost(self, sizes: Matrix, peaks: Scales) -> float:
        large = np.count_nonzero(sizes > LARGE_PART * peaks[:, None], axis=1)
        each = large * LARGE_LOSS**2 + (sizes.shape[1] - large) * SMALL_LOSS**2
        return float(each @ (peaks.astype(np.float64) ** 2))

    @cached_property
    def _codes(self) -> NDArray[np.uint8]:
        """The code of each number by its upper 16 bits, shape (65536,)."""
        bits = np.arange(65_536, dtype=np.uint32) << 16 | 0x8000
        middles = np.nan_to_num(bits.view(np.float32), nan=0.0, posinf=1.0, neginf=-1.0)
        numbers = dynamic_map().astype(np.float64)
        return np.searchsorted((numbers[:-1] + numbers[1:]) / 2, middles).astype(np.uint8)

    @cached_property
    def _pairs(self) -> NDArray[np.complex64]:
        """The numbers of two codes that stand beside each other, by both as one word, shape (65536,)."""
        words = np.arange(65_536, dtype=np.uint16).view(np.uint8)
        return dynamic_map()[words].view(np.complex64)

    def _pack(self, blocks: Matrix, scales: Scales, codes: Bytes) -> None:
        most, least = blocks.max(axis=1), blocks.min(axis=1)
        scales[:] = np.where(-least > most, least, most)
        scales[np.abs(scales) < np.finfo(np.float32).tiny] = 0.0  # the inverse of others is finite
        inverse = np.where(scales == 0.0, np.float32(0.0), 1 / scales)
        ratios = np.multiply(blocks, inverse[:, None]).reshape(-1)
        index = np.right_shift(ratios.view(np.uint32), 16, dtype=np.intp)
        np.take(self._codes, index, out=codes, mode="clip")

    def _unpack(self, scales: Scales, codes: Bytes, blocks: Matrix) -> None:
        numbers = np.empty(codes.size + codes.size % 2, dtype=np.float32)
        if codes.size % 2:
            codes = np.append(codes, codes[:1])
        np.take(self._pairs, codes.view(np.uint16), out=numbers.view(np.complex64), mode="clip")
        np.multiply(numbers[: blocks.size].reshape(blocks.shape), scales[:, None], out=blocks)
