"""Four bits a number, evenly spaced within each block of 64; meant for contributions that carry their error on.

Of the error that one round makes, the next makes up (`core.averaging.feedback`).  Scales are bfloat16; a level times a
scale is exact, so encoding what was decoded gives the same bits again.
"""

from functools import cached_property
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from core.averaging.codecs.blocks import ROUND, Blockwise, Bytes, Matrix, Scales, even_steps

LEVELS: Final = 7
_SCALE_DROPPED_BITS: Final = 16
"""What a bfloat16 lacks of a float32."""
_MIDDLE: Final = 8
"""The code of level 0: codes are 1 to 15."""


class Uniform4(Blockwise):
    """0.53 bytes a number; absolute error at most 0.072 of the block's largest magnitude.

    For normally distributed numbers the relative error (of norms) is 0.11.
    """

    BLOCK = 64
    SCALE: ClassVar[np.dtype[np.generic]] = np.dtype("<u2")
    CODE_BITS = 4

    @cached_property
    def _pairs(self) -> NDArray[np.complex64]:
        """The two levels of each byte, the lower half's first, shape (256,)."""
        codes = np.arange(256)
        levels = np.stack([codes & 15, codes >> 4], axis=1) - _MIDDLE
        return levels.astype(np.float32).reshape(-1).view(np.complex64)

    def _pack(self, blocks: Matrix, scales: Scales, codes: Bytes) -> None:
        rows, length = blocks.shape
        if length % 2:
            blocks = np.pad(blocks, ((0, 0), (0, 1)))
        work = np.abs(blocks).reshape(-1)
        peaks = np.maximum.reduceat(work, np.arange(0, work.size, work.size // rows))
        scales[:] = even_steps(peaks, levels=LEVELS, dropped_bits=_SCALE_DROPPED_BITS)
        np.multiply(blocks, (1 / scales)[:, None], out=work.reshape(blocks.shape))
        work += ROUND + np.float32(_MIDDLE)
        pairs = work.view(np.uint32).astype("<u4", copy=False).view("<u8")
        np.copyto(codes, pairs | pairs >> 28 & 0xF0, casting="unsafe")

    def _unpack(self, scales: Scales, codes: Bytes, blocks: Matrix) -> None:
        levels = np.empty(2 * codes.size, dtype=np.float32)
        np.take(self._pairs, codes, out=levels.view(np.complex64), mode="clip")
        np.multiply(levels[: blocks.size].reshape(blocks.shape), scales[:, None], out=blocks)

    def _scales_to_wire(self, scales: Scales) -> NDArray[np.generic]:
        return (scales.view(np.uint32) >> 16).astype(self.SCALE)

    def _scales_from_wire(self, wire: NDArray[np.generic]) -> Scales:
        return (wire.astype(np.uint32) << 16).view(np.float32)
