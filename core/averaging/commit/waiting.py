"""For whom all others wait at the end of a round."""

from collections.abc import Collection
from typing import Final

from core.averaging.allreduce.overtime import Overtime

TWICE: Final = 2.0
"""The others wait for one at most so many times as long as they have taken themselves."""


class Waiting:
    """What the leader knows of those who are not done when enough others are.

    Args:
        overtime: Counts for whom the others have waited.
        of: Members besides the leader.
    """

    def __init__(self, overtime: Overtime, *, of: int) -> None:
        self._overtime = overtime
        self._of = of
        self._awaited: tuple[int, ...] = ()
        self._since: float | None = None
        self._lacking: dict[int, int] = {}
        self._moved_at: dict[int, float] = {}

    def restart(self) -> None:
        """Nobody is waited for."""
        self._awaited = ()
        self._since = None
        self._lacking.clear()
        self._moved_at.clear()

    def heard(self, member: int, lacking: int, now: float) -> None:
        """So many means have not come to `member`."""
        if lacking < self._lacking.get(member, lacking + 1):
            self._lacking[member] = lacking
            self._moved_at[member] = now

    def begin(self, members: Collection[int] | None, now: float) -> None:
        """From now on it is these for whom the others wait; None: not enough of the others are done."""
        self._overtime.count(self._awaited, now, of=self._of)
        self._awaited = tuple(members or ())
        if members is None:
            self._since = None
        elif self._since is None:
            self._since = now

    @property
    def deadline(self) -> float | None:
        """When one of them is waited for no longer that others had to wait for in earlier rounds."""
        return self._overtime.left_at(self._awaited, of=self._of)

    def too_long(self, now: float, *, began_at: float, patience_s: float) -> list[int]:
        """Of those for whom the others wait: who has not moved for `patience_s`, or lets them wait for too long.

        Args:
            now: Unix seconds.
            began_at: When the others began.
            patience_s: See above.
        """
        if self._since is None:
            return []
        if now >= self._since + patience_s + TWICE * (self._since - began_at):
            return list(self._awaited)
        left = self._overtime.to_leave(self._awaited, now, of=self._of)
        still = [m for m in self._awaited if now >= max(self._since, self._moved_at.get(m, 0.0)) + patience_s]
        return sorted({*left, *still})
