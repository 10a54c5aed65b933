"""The grid of a layer: each expert has a place, named by one to three coordinates (Learning@home, section 3.2).

The score of a place is the sum of what the gate gives for each of its coordinates, so the best places are found
without looking at all of them.  `best_places` is exact; Algorithm 1 of Learning@home is not where a grid has gaps.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Place = tuple[int, ...]
"""As many coordinates as the grid has dimensions; of a prefix, fewer."""
DIMENSIONS_MAX = 3
SIZE_MAX = 256
"""Number of coordinates in a dimension: one byte names each."""
PLACES_MAX = 65_536
Scores = Sequence[Sequence[float]]
"""What the gate gives for one sample: for each dimension, for each coordinate."""


class ExpertGrid:
    """Places of the experts of a layer, counted row by row: the last coordinate runs fastest.

    Args:
        sizes: Number of coordinates in each dimension.
        live: Number of places that are to have an expert, the first ones; so all rows are full but the last.

    Raises:
        ValueError: a number is out of bounds, or the grid has fewer places than that.
    """

    def __init__(self, sizes: tuple[int, ...], live: int) -> None:
        if not 1 <= len(sizes) <= DIMENSIONS_MAX or not all(2 <= size <= SIZE_MAX for size in sizes):
            raise ValueError(f"a grid has 1 to {DIMENSIONS_MAX} dimensions of 2 to {SIZE_MAX}")
        if not 2 <= live <= min(prod(sizes), PLACES_MAX):
            raise ValueError(f"{live} experts in a grid of {prod(sizes)} places, of which {PLACES_MAX} can be live")
        self.sizes = sizes
        self.live = live
        self._below = tuple(prod(sizes[depth + 1 :]) for depth in range(len(sizes)))
        """By dimension: number of places under one coordinate."""

    def place(self, number: int) -> Place:
        """The place with this number, 0 to `live` - 1."""
        coordinates = []
        for below in self._below:
            coordinate, number = divmod(number, below)
            coordinates.append(coordinate)
        return tuple(coordinates)

    def coordinates(self, numbers: "NDArray[np.intp]") -> "list[NDArray[np.intp]]":
        """For each dimension, the coordinates of places with these numbers."""
        return [numbers // below % size for below, size in zip(self._below, self.sizes, strict=True)]

    def number(self, place: Place) -> int:
        """The number of a place, or of the first one under a prefix."""
        return sum(coordinate * below for coordinate, below in zip(place, self._below, strict=False))

    def width(self, prefix: Place) -> int:
        """Number of coordinates that can follow a prefix, of which there are fewer in the last rows."""
        left = self.live - self.number(prefix)
        return max(0, min(self.sizes[len(prefix)], -(-left // self._below[len(prefix)])))

    def has(self, place: Place) -> bool:
        """Whether an expert can have this place; what a stranger names may have any form."""
        right = len(place) == len(self.sizes) and all(
            0 <= coordinate < size for coordinate, size in zip(place, self.sizes, strict=True)
        )
        return right and self.number(place) < self.live

    def prefixes(self, length: int) -> Iterator[Place]:
        """All prefixes of so many coordinates under which there are places, in their order."""
        if length == 0:
            yield ()
            return
        for before in self.prefixes(length - 1):
            for coordinate in range(self.width(before)):
                yield (*before, coordinate)


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
