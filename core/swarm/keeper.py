"""A backbone keeps copies of the model, and gives the newest when nobody trains (docs/protocols/states.md)."""

from typing import Any, Final

from core.swarm.catch_up import CatchUp, CatchUpFailed, StateFetched
from core.swarm.facts import StateKept, StateNotKept
from core.swarm.orders import Keep
from core.swarm.round_events import Asked
from core.swarm.state_choice import NewerState
from core.swarm.states import StateName

REST_MIN_S: Final = 30.0
"""Before the first copy, and between two."""
REST: Final = 19
"""So many times as long as a copy took is rested after it: copies take a twentieth of somebody's line at most."""


class StateKeeper:
    """Decides when the next copy is taken, and knows the last.

    Args:
        catch_up: Downloads it.
        bytes_max: Number of bytes that a copy may have; 0: take none.
    """

    def __init__(self, catch_up: CatchUp, *, bytes_max: int) -> None:
        self._catch_up = catch_up
        self._bytes_max = bytes_max
        self.newest: StateKept | None = None
        """What is given."""
        self._next: NewerState | None = None
        """What is being fetched, or taken by the owner."""
        self._began_at = 0.0
        self._rests_until: float | None = None
        """Unix seconds; None: it has not looked yet."""

    def consider(self, name: StateName | None, now: float) -> list[Any]:
        """Fetch the state where most stand, when it is time for another copy.

        Args:
            name: The state; None: it is not known.
            now: Unix seconds.
        """
        if self._rests_until is None:
            self._rests_until = now + REST_MIN_S
        if not self._bytes_max or self._next is not None or now < self._rests_until or name is None or not name.epoch:
            return []
        offer = self._catch_up.choice.copy_of(name, now)
        if offer is None or (self.newest is not None and offer.digest == self.newest.file.digest):
            return []
        self._next, self._began_at = offer, now
        return self._catch_up.begin(offer, now, size_max=self._bytes_max)

    def followed(self, event: Asked | StateFetched | CatchUpFailed, now: float) -> list[Any]:
        """Have the owner keep what was fetched; after a failure wait for the next time."""
        match event:
            case StateFetched(name=name, location=location) if self._next is not None:
                return [Keep(location, name, self._next.digest)]
            case CatchUpFailed():
                self._rest(now)
        return []

    def answered(self, answer: StateKept | StateNotKept, now: float) -> None:
        """Take note of what the owner has made of a copy, or of one that it found when it started."""
        if isinstance(answer, StateKept):
            self.newest = answer
            self._catch_up.arrived(answer.name)
            self._catch_up.donor.offer(answer.file)
        else:
            self._catch_up.refused(now)
        if self._next is not None:
            self._rest(now)

    def _rest(self, now: float) -> None:
        self._next = None
        self._rests_until = now + max(REST_MIN_S, REST * (now - self._began_at))
