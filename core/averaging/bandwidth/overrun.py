"""By how much rounds exceed what their plans say, and which of them were late for a reason of their own."""

from collections import deque
from statistics import median
from typing import Final

LATE: Final = 1.25
"""A round that takes so many times what rounds like it take was late: a line carries less than the plan took it for."""
ROUNDS: Final = 8
"""So many of the last ones say what is usual."""
LEAST: Final = 3
"""Fewer say nothing: one late round may be one bad line's."""
MOST: Final = 3.0


class Overrun:
    """A plan counts bytes and lines; starts, processors and other people's traffic are none of its business.

    They make every round take longer than its plan says, by about the same factor, for which nobody's line is to blame.
    """

    def __init__(self) -> None:
        self._ratios: deque[float] = deque(maxlen=ROUNDS)

    @property
    def count(self) -> int:
        """Number of rounds on which `middle` rests, at most `ROUNDS`."""
        return len(self._ratios)

    @property
    def middle(self) -> float:
        """How many times what its plan says the middle one of the last rounds took.  There is one."""
        return median(self._ratios)

    @property
    def usual(self) -> float:
        """How many times what its plan says a round takes of late, at the least: 1 to `MOST`."""
        return 1.0 if len(self._ratios) < LEAST else min(max(1.0, min(self._ratios)), MOST)

    def late(self, ratio: float) -> bool:
        """A round is over that took `ratio` times what its plan said: was it late, for rounds like these?"""
        late = ratio > LATE * self.usual
        self._ratios.append(ratio)
        return late
