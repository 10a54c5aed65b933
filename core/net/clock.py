"""The one clock of a process.  Machines get its time as an argument."""

import time
from collections.abc import Callable

SLEEP_S = 2.0
"""Lead of the wall clock, seconds, which means that the computer slept or that somebody set the clock."""


class Clock:
    """Unix seconds that never go back: they run with the monotonic clock and follow the wall clock forward only.

    Args:
        ahead_s: Added to the wall clock once, at the start: the offset that a trusted clock reported.
        wall: Unix seconds of the system.
        monotonic: Seconds that never go back.
    """

    def __init__(
        self,
        *,
        ahead_s: float = 0.0,
        wall: Callable[[], float] = time.time,  # noqa: TID251 - this is the edge that the rule names
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ahead_s = ahead_s
        self._wall = wall
        self._monotonic = monotonic
        self._offset = wall() + ahead_s - monotonic()

    def now(self) -> float:
        """The present time in Unix seconds."""
        now = self._monotonic() + self._offset
        lag_s = self._wall() + self._ahead_s - now
        if lag_s > SLEEP_S:
            self._offset += lag_s
            now += lag_s
        return now
