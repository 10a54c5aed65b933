"""A share of the time: training rests after each pass, so that a computer stays cool, quiet and quick."""

from collections.abc import Callable
from typing import Final

REST_S_MAX: Final = 600.0
"""Upper bound on a rest.  On Windows the clock goes on in sleep: a night within a pass would be followed, with a share
of 15 %, by a rest of two days."""


class DutyCycle:
    """How long to rest after a pass.

    Args:
        clock: Seconds that only go forward; not asked while training computes all the time.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._share = 1.0
        self._began = self._until = 0.0

    @property
    def share(self) -> float:
        """The part of the time in which training computes, above 0 and up to 1."""
        return self._share

    def set_share(self, percent: int) -> None:
        """From now on compute in this percentage of the time, 1 to 100; a rest that is under way ends."""
        self._share, self._until = percent / 100, 0.0

    @property
    def rest_s(self) -> float:
        """Seconds to rest before the next pass."""
        return 0.0 if self._share == 1.0 else max(0.0, self._until - self._clock())

    def pass_begins(self) -> None:
        """A pass computes from now on."""
        if self._share < 1.0:
            self._began = self._clock()

    def pass_ends(self) -> None:
        """The pass is over, and is followed by a rest in proportion."""
        if self._share < 1.0:
            now = self._clock()
            self._until = now + min(REST_S_MAX, (now - self._began) * (1 / self._share - 1))
