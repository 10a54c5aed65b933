"""Finds the experts with the highest scores for a sample, as far as it is known who lives.

The score of a place is the sum of what the gate gives for each of its coordinates, so the best places are found
without looking at all of them.  `best_places` is exact; Algorithm 1 of Learning@home is not where a grid has gaps.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from core.experts.grid import ExpertGrid, Place

Scores = Sequence[Sequence[float]]
"""What the gate gives for one sample: for each dimension, for each coordinate."""


class Living(Protocol):
    """What is known of who lives."""

    def after(self, prefix: Place) -> Sequence[int] | None:
        """Coordinates after a prefix under which an expert lives, in their order; None: that was not read yet."""


@dataclass(slots=True)
class Sought:
    """The best places for a sample, as far as known."""

    places: list[tuple[float, Place]] = field(default_factory=list)
    """Score and place of each, the best first."""
    unknown: list[Place] = field(default_factory=list)
    """Prefixes that were not read, and under which there may be better ones."""


def best_places(scores: Scores, living: Living, grid: ExpertGrid, count: int) -> Sought:
    """Find the `count` best places: best first, by what a prefix has and the most that can follow.

    Where nothing is unknown they are those of a search through all places.  Equal scores: the lower place is first.

    Args:
        scores: The gate's.
        living: Who is known to live.
        grid: The layer's places.
        count: How many are wanted.
    """
    depth = len(grid.sizes)
    rest = [0.0] * (depth + 1)
    for dimension in range(depth - 1, -1, -1):
        rest[dimension] = rest[dimension + 1] + max(scores[dimension])
    found = Sought()
    waiting: list[tuple[float, Place, float]] = [(-rest[0], (), 0.0)]
    while waiting and len(found.places) < count:
        _, prefix, score = heapq.heappop(waiting)
        if len(prefix) == depth:
            found.places.append((score, prefix))
            continue
        after = living.after(prefix)
        if after is None:
            found.unknown.append(prefix)
            continue
        own, most = scores[len(prefix)], rest[len(prefix) + 1]
        for coordinate in after:
            total = score + own[coordinate]
            heapq.heappush(waiting, (-(total + most), (*prefix, coordinate), total))
    return found
