"""A helper: a peer without a trainer that reduces for the others.  It holds no state and stands where they stand."""

from typing import Final

from core.swarm.membership import Membership
from core.swarm.states import StateName

OWN_VIEW_S: Final = 10.0
"""So long a helper believes the round that it was in itself, whatever the others have reported."""
HELP_BYTES: Final = 10
"""For each number of the longest vector: the means of its share (4), and parts that wait (6)."""


class Standby:
    """Whether this peer helps, and at which state.

    Args:
        membership: Who stands where.
    """

    def __init__(self, membership: Membership) -> None:
        self._membership = membership
        self._room_bytes = 0
        self._led_to: tuple[StateName, float] | None = None
        self.name: StateName | None = None
        """Where it stands; None while it does not help, or knows of nobody."""

    @property
    def helping(self) -> bool:
        """Whether there is memory to help with."""
        return self._room_bytes > 0

    @property
    def numel_max(self) -> int:
        """The longest vector that it helps with: all of it may become its share."""
        return self._room_bytes // HELP_BYTES

    def help(self, room_bytes: int) -> None:
        """Help with vectors for which there is so much memory; 0: no longer."""
        self._room_bytes = room_bytes
        self.name = None

    def committed(self, name: StateName, now: float) -> None:
        """A round that it was in led to this state: the others will report so soon."""
        self._led_to = (name, now)

    def look(self, now: float) -> StateName | None:
        """Where most of those who train stand, or where the last round has just led, if that is further."""
        found = self._membership.majority(now)
        led_to = self._led_to
        if led_to is not None and now - led_to[1] < OWN_VIEW_S and (found is None or led_to[0] > found):
            found = led_to[0]
        self.name = found if self.helping else None
        return self.name
