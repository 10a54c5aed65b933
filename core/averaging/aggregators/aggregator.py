"""The port of all aggregators, which make one vector of several members' parts, and the weighted mean."""

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]


class Parts(Protocol):
    """All parts of one chunk, in the order of the plan's members, as often as they are asked for."""

    def __len__(self) -> int:
        """Number of members whose parts the chunk has."""

    def __iter__(self) -> Iterator[tuple[float, Vector]]:
        """Each part's weight, above 0 and all together 1, and its numbers, shape (numel,).

        The numbers are valid until the next part is asked for, and may be overwritten.
        """


class Aggregator(Protocol):
    """Makes one vector of several; equal parts in the same order give equal bits."""

    def aggregate(self, parts: Parts, out: Vector) -> None:
        """Write what the parts become.

        Args:
            parts: At least one.  A number of them may be infinite or none; then so may be the result.
            out: Shape (numel,), float32.
        """


class WeightedMean:
    """Sum of weight times part, in float32, each product and each sum rounded once.

    It trusts every part, so a single wild one moves the result.
    """

    def aggregate(self, parts: Parts, out: Vector) -> None:
        """Write the weighted mean of the parts to `out`."""
        first = True
        with np.errstate(over="ignore", invalid="ignore"):
            for weight, values in parts:
                if first:
                    np.multiply(values, np.float32(weight), out=out)
                    first = False
                else:
                    out += np.multiply(values, np.float32(weight), out=values)


def all_finite(values: Vector) -> bool:
    """Whether a vector holds neither an infinity nor something that is not a number."""
    return not values.size or bool(np.isfinite(values.max()) and np.isfinite(values.min()))
