"""When Potluck may work: the person's week, applied to moments.

A week is wall-clock time, so a moment is open when the minute that a clock on the wall shows is.  Where clocks are put
back, an hour that comes twice counts twice; where they are put forward, the one that does not come does not count.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from core.api.week import DAY_MINUTES, DAYS, WEEK_MINUTES, Week, clock

MINUTE_S: Final = 60
DAY_S: Final = 86_400
MONDAY_MINUTE: Final = 3 * DAY_MINUTES
"""Unix time began on a Thursday."""
AHEAD_S: Final = 9 * DAY_S
"""A week, and what a change of clocks may add: nothing that changes at all keeps still for longer."""


@dataclass(frozen=True, slots=True)
class Hours:
    """A week at a place.

    Attributes:
        week: The person's.
        offset_s: How far the local clock is ahead of UTC at a moment in unix seconds.  It is a whole number of minutes
            and changes at whole seconds, not twice within a day.
    """

    week: Week
    offset_s: Callable[[float], float]

    def open(self, now: float) -> bool:
        """Whether Potluck may work at `now`, unix seconds."""
        return self.week.open(self._minute(now))

    def next_change(self, now: float) -> float | None:
        """The first moment after `now` that is not as `now` is; None: there is none."""
        at, before = now, self.open(now)
        while at < now + AHEAD_S:
            offset_s, minute = self.offset_s(at), self._minute(at)
            left = self.week.until_change(minute)
            if left is None:
                return None
            change = (minute + left - MONDAY_MINUTE) * MINUTE_S - offset_s
            reached = min(change, at + DAY_S)
            if self.offset_s(reached) != offset_s:
                reached = self._clocks_change(at, reached)
                if self.open(reached) != before:
                    return reached
            elif reached == change:
                return change
            at = reached
        return None

    def wall_time(self, moment: float, now: float) -> dict[str, str | int]:
        """When `moment` is, for a sentence that is still right tomorrow.

        Returns:
            Arguments of a verdict: `clock` such as "07:00"; on another day than `now` also `day` such as "Saturday".
        """
        then = self._minute(moment)
        at: dict[str, str | int] = {"clock": clock(then)}
        if then // DAY_MINUTES == self._minute(now) // DAY_MINUTES:
            return at
        return {**at, "day": DAYS[then % WEEK_MINUTES // DAY_MINUTES].capitalize()}

    def _minute(self, moment: float) -> int:
        """Return the minute of the wall clock, counted from a Monday's midnight."""
        return int((moment + self.offset_s(moment)) // MINUTE_S) + MONDAY_MINUTE

    def _clocks_change(self, before: float, after: float) -> float:
        """The first whole second after `before`, not after `after`, at which the offset is another one."""
        offset_s = self.offset_s(before)
        low, high = int(before // 1), int(-(-after // 1))
        while high - low > 1:
            middle = (low + high) // 2
            if self.offset_s(middle) == offset_s:
                low = middle
            else:
                high = middle
        return float(min(high, after))
