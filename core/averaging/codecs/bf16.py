"""bfloat16, little-endian: the upper half of a float32, rounded to nearest, ties to even."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.averaging.codecs.codec import check_length

_WIRE: Final = np.dtype("<u2")
LARGEST: Final = np.array([0x7F7F_0000], dtype=np.uint32).view(np.float32)[0]
"""The largest finite bfloat16.  Numbers beyond it are sent as it, not as infinity."""
_HALF: Final = np.uint32(0x7FFF)
"""Just under half of the last kept bit; with that bit added, ties go to even."""
_NAN: Final = 0x7FC0


class Bf16:
    """Two bytes a number, with float32's range; relative error at most 2^-8, absolute error at most 2^-134 near 0."""

    def max_bytes(self, numel: int, start: int = 0) -> int:  # noqa: ARG002 - the same everywhere
        """Length of the payload of `numel` numbers."""
        return numel * _WIRE.itemsize

    def encode(self, values: NDArray[np.float32], start: int = 0) -> memoryview:  # noqa: ARG002 - the same everywhere
        """The numbers nearest to `values`, clipped to the finite ones; what is not finite becomes no number."""
        if not values.size or np.abs(values).max() <= LARGEST:
            return _upper(values).astype(_WIRE).view(np.uint8).data
        upper = _upper(np.clip(values, -LARGEST, LARGEST))
        upper[~np.isfinite(values)] = _NAN
        return upper.astype(_WIRE).view(np.uint8).data

    def decode_into(self, payload: memoryview, out: NDArray[np.float32], start: int = 0) -> None:  # noqa: ARG002
        """Write the numbers of `payload` to `out`.

        Raises:
            RemoteProblem: the payload has another length.
        """
        check_length(payload, self.max_bytes(out.size))
        np.left_shift(np.frombuffer(payload, dtype=_WIRE), 16, out=out.view(np.uint32), dtype=np.uint32)


def _upper(values: NDArray[np.float32]) -> NDArray[np.uint32]:
    bits = values.view(np.uint32)
    rounded = bits >> np.uint32(16)
    rounded &= 1
    rounded += bits
    rounded += _HALF
    rounded >>= 16
    return rounded
