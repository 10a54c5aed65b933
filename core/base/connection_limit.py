"""How many connections strangers may have that have not proven who they are."""

from collections.abc import Hashable
from typing import Generic, TypeVar

C = TypeVar("C", bound=Hashable)


class ConnectionLimit(Generic[C]):
    """Bounds the connections of each household, and of all together.

    A connection that comes when there is no room takes the place of another one of its own household, if that has as
    many as one may have, and otherwise of the household that has most: of the oldest silent one, or of the oldest, if
    all have spoken.

    What the worst stranger gains: silent connections end no others than silent ones.  With ones that speak it ends, of
    its neighbours behind the same router, those that take longer than it needs for `most_of_one` new ones, and of all,
    from `most` addresses, those that take longer than it needs for `most` new ones.

    Args:
        most: Number of connections of all.
        most_of_one: Number of connections of one household.
    """

    def __init__(self, *, most: int, most_of_one: int) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._households: dict[str, dict[C, None]] = {}
        """Connections of each household, the oldest first."""
        self._household_of: dict[C, str] = {}
        self._spoken: set[C] = set()

    def __len__(self) -> int:
        return len(self._household_of)

    def enter(self, connection: C, household: str) -> C | None:
        """Count a connection.

        Args:
            connection: The connection.
            household: Where it comes from (`core.base.rate_limit.household`).

        Returns:
            A connection that must end, and is no longer counted; None: there was room.
        """
        own = self._households.get(household, {})
        victim: C | None = None
        if len(own) >= self._most_of_one:
            victim = self._oldest(own)
        elif len(self) >= self._most:
            victim = self._oldest(self._households[max(self._households, key=self._count)])
        if victim is not None:
            self.leave(victim)
        self._households.setdefault(household, {})[connection] = None
        self._household_of[connection] = household
        return victim

    def spoke(self, connection: C) -> None:
        """Note that something has arrived on a connection that is counted."""
        if connection in self._household_of:
            self._spoken.add(connection)

    def leave(self, connection: C) -> None:
        """Count a connection no longer, if it was counted: it has ended, or has proven who it is."""
        household = self._household_of.pop(connection, None)
        if household is None:
            return
        self._spoken.discard(connection)
        del self._households[household][connection]
        if not self._households[household]:
            del self._households[household]

    def _oldest(self, connections: dict[C, None]) -> C:
        return next((one for one in connections if one not in self._spoken), next(iter(connections)))

    def _count(self, household: str) -> int:
        return len(self._households[household])
