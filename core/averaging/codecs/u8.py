"""Eight bits a number, evenly spaced within each block of 1,024.

The largest magnitude of a block is level 127.  Of the scale only 10 bits are used, so every
decoded number is exact, and encoding it again gives the same scale and the same levels.
"""

from typing import ClassVar, Final

import numpy as np

from core.averaging.codecs.blocks import ROUND, Blockwise, Bytes, Matrix, Scales, even_steps

LEVELS: Final = 127
_SCALE_DROPPED_BITS: Final = 14


class Uniform8(Blockwise):
    """1.004 bytes a number; absolute error at most 1/254 of the block's largest magnitude, plus 0.1 % of that.

    For normally distributed numbers the relative error (of norms) is 0.008.
    """

    BLOCK = 1024
    SCALE: ClassVar[np.dtype[np.generic]] = np.dtype("<f4")
    CODE_BITS = 8

    def _pack(self, blocks: Matrix, scales: Scales, codes: Bytes) -> None:
        work = np.abs(blocks)
        scales[:] = even_steps(work.max(axis=1), levels=LEVELS, dropped_bits=_SCALE_DROPPED_BITS)
        np.multiply(blocks, (1 / scales)[:, None], out=work)
        work += ROUND
        np.copyto(codes, work.reshape(-1).view(np.uint32), casting="unsafe")  # the lowest byte: -127 to 127

    def _unpack(self, scales: Scales, codes: Bytes, blocks: Matrix) -> None:
        np.multiply(codes.view(np.int8).reshape(blocks.shape), scales[:, None], out=blocks)
