"""The weighted mean."""

import math

import numpy as np
from numpy.typing import NDArray

WHOLE = 1e-6
"""A sum of weights this near to 1 needs no division: the weights are fractions that sum to 1 but for their rounding."""


class WeightedMean:
    """Sum of weight times part over the sum of weights, in float32.

    Args:
        numel: Numbers in the chunk.
    """

    def __init__(self, numel: int) -> None:
        self._sum: NDArray[np.float32] = np.zeros(numel, dtype=np.float32)
        self._weight = 0.0

    def add(self, values: NDArray[np.float32], weight: float, scratch: NDArray[np.float32]) -> bool:
        """Take a part; False when it is not finite (or so large that its sum is not)."""
        with np.errstate(over="ignore", invalid="ignore"):
            np.multiply(values, np.float32(weight), out=scratch)
            if not math.isfinite(scratch.sum()):
                return False
        self._sum += scratch
        self._weight += weight
        return True

    def finish(self) -> NDArray[np.float32]:
        """The mean of what was taken."""
        if self._weight > 0 and abs(self._weight - 1.0) > WHOLE:
            self._sum *= np.float32(1.0 / self._weight)
        return self._sum
