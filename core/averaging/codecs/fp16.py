"""IEEE half precision, little-endian."""

import numpy as np
from numpy.typing import NDArray

from core.averaging.codecs.codec import check_length

_WIRE = np.dtype("<f2")
LARGEST = 65_504.0
"""The largest finite half.  Numbers beyond it are sent as it, not as infinity."""


class Fp16:
    """Two bytes a number; relative error at most 2^-11, absolute error at most 2^-25 below 2^-14."""

    def wire_bytes(self, numel: int) -> int:
        """Length of the payload of `numel` numbers."""
        return numel * _WIRE.itemsize

    def encode(self, values: NDArray[np.float32]) -> memoryview:
        """The halves nearest to `values`, clipped to the finite ones; what is not a number stays none."""
        clipped = np.clip(values, -LARGEST, LARGEST)
        return clipped.astype(_WIRE).view(np.uint8).data

    def decode_into(self, payload: memoryview, out: NDArray[np.float32]) -> None:
        """Write the numbers of `payload` to `out`.

        Raises:
            RemoteProblem: the payload has another length.
        """
        check_length(payload, self.wire_bytes(out.size))
        out[:] = np.frombuffer(payload, dtype=_WIRE)
