"""How the parts of a chunk become one vector: the weighted mean, and one that few wild parts do not move.

A new aggregator is a class that satisfies `Aggregator`, and one line in `AGGREGATORS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from core.base.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Vector: TypeAlias = "NDArray[np.float32]"

NORM_FACTOR: Final = 8.0
"""Times the median norm of a chunk's parts with which a part counts at most.  Honest parts of 8 to 512 samples came to
5.7 times in chunks of 256 numbers, the smallest of a manifest, and to 3.1 times from 2,048 on (`rounds.md`)."""
TYPICAL_PART: Final = 0.5
"""Part of the norm that a chunk of its size has typically, below which no median is a measure: to a row of an embedding
that few have met, the others have next to nothing to say."""
MEDIAN_LEAST: Final = 3
"""Number of parts from which on their median norm is a measure: of two, nobody can tell which one is wrong."""


class Aggregator(Protocol):
    """Makes one vector of several; equal parts in the same order give equal bits."""

    def aggregate(self, weights: Sequence[float], parts: Iterable[Vector], out: Vector) -> None:
        """Write what the parts become.

        Args:
            weights: Of the parts, above 0 and all together 1; at least one.
            parts: Their numbers, each of shape (numel,) and valid until the next one is asked for; they may be
                overwritten.  A number of them may be infinite or none; then so may be the result.
            out: Shape (numel,), float32.
        """


class WeightedMean:
    """Sum of weight times part, in float32, each product and each sum rounded once.

    It trusts every part, so a single wild one moves the result.
    """

    def aggregate(self, weights: Sequence[float], parts: Iterable[Vector], out: Vector) -> None:
        """Write the weighted mean of the parts to `out`."""
        with np.errstate(over="ignore", invalid="ignore"):
            for place, (weight, values) in enumerate(zip(weights, parts, strict=True)):
                if place == 0:
                    np.multiply(values, np.float32(weight), out=out)
                else:
                    out += np.multiply(values, np.float32(weight), out=values)


class TrimmedMean:
    """For each number, the weighted mean of the parts without the smallest and the largest of them.

    It is the coordinate-wise trimmed mean of Yin, Chen, Ramchandran and Bartlett (2018, definition 2).  Fewer than
    `trim` of all parts, with whatever numbers, move the result by no more than the others' own spread.

    Args:
        trim: Share of the parts that is left out at each end, 0 to below 0.5; of n parts floor(trim n) are.

    Raises:
        ValueError: `trim` is not within these bounds.
    """

    def __init__(self, trim: float = 0.2) -> None:
        if not 0 <= trim < 0.5:
            raise ValueError(f"a trimmed mean that leaves out {trim} at each end")
        self._trim = trim

    def aggregate(self, weights: Sequence[float], parts: Iterable[Vector], out: Vector) -> None:
        """Write the trimmed mean of the parts to `out`."""
        rows = np.empty((len(weights), out.size), dtype=np.float32)
        for place, values in enumerate(parts):
            rows[place] = values
        cut = int(self._trim * len(rows))
        order = np.argsort(rows, axis=0, kind="stable")[cut : len(rows) - cut]
        kept = np.array(weights, dtype=np.float32)[order]
        with np.errstate(over="ignore", invalid="ignore"):
            np.multiply(np.take_along_axis(rows, order, axis=0), kept, out=rows[: len(kept)])
            np.divide(rows[: len(kept)].sum(axis=0), kept.sum(axis=0), out=out)


AGGREGATORS: Final[Mapping[str, Callable[..., Aggregator]]] = MappingProxyType(
    {"mean": WeightedMean, "trimmed_mean": TrimmedMean}
)
"""Every aggregator, by the name that a manifest gives it; its numbers are its arguments."""


def norm_of(values: Vector) -> float:
    """The Euclidean norm of a part; not a number, or infinite, where a number is, or squares go beyond float32."""
    with np.errstate(over="ignore", invalid="ignore"):
        return math.sqrt(np.dot(values, values))


def norm_bound(norms: Iterable[float], *, typical: float) -> float:
    """Upper bound on the norm with which each part of a chunk counts.

    Args:
        norms: Of all parts of the chunk.
        typical: The norm of the median member's whole contribution, for a chunk of this size.

    Returns:
        `NORM_FACTOR` times the median, of an even number of parts the upper one; infinity where there is no measure.
    """
    ordered = sorted(norms)
    if len(ordered) < MEDIAN_LEAST:
        return math.inf
    return NORM_FACTOR * max(ordered[len(ordered) // 2], TYPICAL_PART * typical) or math.inf


def all_finite(values: Vector) -> bool:
    """Whether a vector holds neither an infinity nor something that is not a number."""
    return not values.size or bool(np.isfinite(values.max()) and np.isfinite(values.min()))
