"""What every aggregator can do."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Aggregator(Protocol):
    """Makes one vector of several, which come in the order of the plan's members; so equal parts give equal bits.

    Args:
        out: Shape (numel,), float32: where the result goes, whatever stands there before.
    """

    def __init__(self, out: NDArray[np.float32]) -> None: ...

    def add(self, values: NDArray[np.float32], weight: float) -> None:
        """Take a part of shape (numel,), which is overwritten.  `weight` is more than 0; all of them sum to 1."""

    def finish(self) -> bool:
        """Complete the result: zeros when no part was taken.  Call once.

        Returns:
            False: it is not finite, so some part was not.
        """
