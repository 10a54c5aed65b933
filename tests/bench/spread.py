"""A figure that was measured several times."""

from collections.abc import Sequence
from statistics import median

import msgspec


class Spread(msgspec.Struct, frozen=True):
    """Median and extremes of a figure that was measured several times."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, figures: Sequence[float]) -> "Spread":
        """The spread of one figure at least, each with four digits."""
        return cls(*(float(f"{one:.4g}") for one in (median(figures), min(figures), max(figures))))
