"""A helper: a peer without a trainer that reduces for the others.  It holds no state and stands where they stand."""

from typing import Any, Final

from core.averaging.codecs.registry import ADAPTIVE, FEEDBACK
from core.swarm.membership import Membership
from core.swarm.orders import Changed
from core.swarm.round_events import Committed, Formed, Missed
from core.swarm.rounds import Rounds, RoundVectors
from core.swarm.states import StateName

OWN_VIEW_S: Final = 10.0
"""So long a helper believes the round that it was in itself, whatever the others have reported."""
HELP_BYTES: Final = 10
"""For each number of the longest vector: the means of its share (4), and parts that wait (6)."""


class Standby:
    """Whether this peer helps, at which state, and what it does about rounds.

    Args:
        membership: Who stands where.
        rounds: Reduce for the others.
        codec: Of the collaboration; residuals, where it has them, take half of the memory.
    """

    def __init__(self, membership: Membership, *, rounds: Rounds, codec: str) -> None:
        self._membership = membership
        self._rounds = rounds
        self._codec = codec
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

    def end(self) -> None:
        """Help no longer: there is a trainer."""
        self._room_bytes = 0
        self.name = None

    def help(self, room_bytes: int, now: float) -> list[Any]:
        """Leave what this peer is in, and help with so much memory; 0: no longer."""
        leaving = [*self._rounds.position(None, now=now), *self._rounds.leave(now)]
        self._room_bytes = self._for_numbers(room_bytes)
        self.name = None
        self._rounds.serve(RoundVectors(), helped_numel=self.numel_max)
        return [*leaving, Changed()]

    def look(self, now: float) -> StateName | None:
        """Where most of those who train stand, or where the last round has just led, if that is further."""
        found = self._membership.majority(now)
        led_to = self._led_to
        if led_to is not None and now - led_to[1] < OWN_VIEW_S and (found is None or led_to[0] > found):
            found = led_to[0]
        self.name = found if self.helping else None
        return self.name

    def consider(self, now: float) -> list[Any]:
        """Stand where the others stand; a call that is being followed goes before what reports say."""
        if self._rounds.busy:
            return []
        name = self.look(now)
        if name is None or not self._rounds.reduces:
            return list(self._rounds.position(None, now=now))
        return list(self._rounds.position(name, self._membership.in_step(name), full=False, now=now))

    def followed(self, event: Formed | Missed | Committed, now: float) -> list[Any]:
        """A round has begun or ended; where it led to, the others will report soon."""
        match event:
            case Formed():
                return [Changed()]
            case Missed():
                return [Changed(), *self.consider(now)]
            case Committed(record=record):
                self._led_to = (record.name, now)
                return [record, Changed(), *self.consider(now)]

    def _for_numbers(self, room_bytes: int) -> int:
        """What is left of it for a share's numbers."""
        if self._codec == ADAPTIVE:  # it goes by the sizes of the tensors, which only those who train know
            return 0
        return room_bytes // 2 if self._codec in FEEDBACK else room_bytes
