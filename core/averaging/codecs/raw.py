"""The codec that loses nothing: numbers travel as little-endian float32, 4 bytes each."""

import numpy as np
from numpy.typing import NDArray

from core.averaging.codecs.codec import check_length

_WIRE = np.dtype("<f4")


class Raw:
    """Four bytes a number; exact.  On little-endian machines encoding copies nothing."""

    def max_bytes(self, numel: int, start: int = 0) -> int:  # noqa: ARG002 - the same everywhere
        """Length of the payload of `numel` numbers."""
        return numel * _WIRE.itemsize

    def encode(self, values: NDArray[np.float32], start: int = 0) -> memoryview:  # noqa: ARG002 - the same everywhere
        """A view of `values` as bytes."""
        return np.ascontiguousarray(values, dtype=_WIRE).view(np.uint8).data

    def decode_into(self, payload: memoryview, out: NDArray[np.float32], start: int = 0) -> None:  # noqa: ARG002
        """Write the numbers of `payload` to `out`.

        Raises:
            RemoteProblem: the payload has another length.
        """
        check_length(payload, self.max_bytes(out.size))
        if out.dtype == _WIRE and out.flags.c_contiguous:
            out.view(np.uint8)[:] = np.frombuffer(payload, dtype=np.uint8)  # a plain copy, however it is aligned
        else:
            out[:] = np.frombuffer(payload, dtype=_WIRE)
