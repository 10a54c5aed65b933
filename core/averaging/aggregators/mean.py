"""The weighted mean."""

import math

import numpy as np
from numpy.typing import NDArray


class WeightedMean:
    """Sum of weight times part, in float32, each product and each sum rounded.

    Args:
        out: Shape (numel,): where the mean goes.
    """

    def __init__(self, out: NDArray[np.float32]) -> None:
        self._out = out
        self._empty = True

    def add(self, values: NDArray[np.float32], weight: float) -> None:
        """Take a part, which is overwritten."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self._empty:
                np.multiply(values, np.float32(weight), out=self._out)
                self._empty = False
            else:
                values *= np.float32(weight)
                self._out += values

    def finish(self) -> bool:
        """Whether the mean is finite."""
        if self._empty:
            self._out.fill(0)
        return all_finite(self._out)


def all_finite(values: NDArray[np.float32]) -> bool:
    """Whether there is neither an infinity nor something that is no number."""
    return not values.size or (math.isfinite(values.max()) and math.isfinite(values.min()))
