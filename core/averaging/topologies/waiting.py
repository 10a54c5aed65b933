"""For whom all others wait at the end of a round."""

from collections.abc import Collection
from typing import Final

TWICE: Final = 2.0
"""The others wait for one at most so many times as long as they have taken themselves."""


class Waiting:
    """What the leader knows of those who are not done when enough others are."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._lacking: dict[int, int] = {}
        self._moved_at: dict[int, float] = {}

    def restart(self) -> None:
        """Nobody is waited for."""
        self._since = None
        self._lacking.clear()
        self._moved_at.clear()

    def heard(self, member: int, lacking: int, now: float) -> None:
        """So many means have not come to `member`."""
        if lacking < self._lacking.get(member, lacking + 1):
            self._lacking[member] = lacking
            self._moved_at[member] = now

    def too_long(self, members: Collection[int] | None, now: float, *, began_at: float, patience_s: float) -> list[int]:
        """Of the members for whom the others wait, those who have not moved for `patience_s`, or wait for too long.

        Args:
            members: Who is not done; None: not enough of the others are.
            now: Unix seconds.
            began_at: When the others began.
            patience_s: See above.
        """
        if members is None:
            self._since = None
            return []
        if self._since is None:
            self._since = now
        late = now >= self._since + patience_s + TWICE * (self._since - began_at)
        still = [m for m in members if now >= max(self._since, self._moved_at.get(m, 0.0)) + patience_s]
        return list(members) if late else still
