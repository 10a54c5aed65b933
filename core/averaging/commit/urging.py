"""Who lacks means when most are done asks for them elsewhere, before anything is held against it.

That a member lacks means is all that a leader can see: it may be slow itself, or a reducer gives to it alone slowly.
So the leader urges it: it complains of the few reducers of which it lacks means, and gets them from a member that holds
them, the leader itself if that has the line for it.  Who then goes on lacking is slow, or says what is not true.
"""

from collections.abc import Collection

from core.averaging.allreduce.overtime import Overtime
from core.base.machine import earliest


class Urging:
    """Whom a leader has urged in its round.

    Args:
        overtime: Counts for whom the others wait; for those who are urged it begins anew.
    """

    def __init__(self, overtime: Overtime) -> None:
        self._overtime = overtime
        self._lacking: tuple[int, ...] = ()
        self._since: float | None = None
        self._granted = 0
        self.urged = 0
        """Who is to ask now (bits)."""

    def restart(self) -> None:
        """Some means are made anew: nobody lacks them yet through anybody's fault."""
        self._lacking = ()
        self._since = None
        self.urged = 0

    def lack(self, members: Collection[int], now: float) -> None:
        """These lack means while enough of the others lack none; nobody, if those are not enough."""
        self._lacking = tuple(members)
        if not members:
            self._since = None
        elif self._since is None:
            self._since = now

    @property
    def deadline(self) -> float | None:
        """When the next one is to be urged, unix seconds."""
        return earliest(*(at for _, at in self._due()))

    def urge(self, now: float) -> bool:
        """Urge those whose time it is; returns whether there are any."""
        new = [member for member, at in self._due() if at <= now]
        for member in new:
            self.urged |= 1 << member
            if not self._granted >> member & 1:  # once in a round, or whoever lies would have its time again and again
                self._granted |= 1 << member
                self._overtime.urged(member, now)
        return bool(new)

    def _due(self) -> list[tuple[int, float]]:
        if self._since is None:
            return []
        waiting = [member for member in self._lacking if not self.urged >> member & 1]
        return [(member, self._overtime.urged_at(member, self._since)) for member in waiting]
