"""A backbone keeps copies of the model, and gives the newest when nobody trains (docs/protocols/states.md)."""

import math
from typing import Final

from core.swarm.catching_up.catch_up import CatchUp
from core.swarm.catching_up.state_choice import NewerState
from core.swarm.words.facts import StateKept, StateNotKept
from core.swarm.words.orders import CopyFailed, Keep
from core.swarm.words.outputs import Asked, CatchUpFailed, MeansFetched, Output, StateFetched
from core.swarm.words.states import StateName

REST_MIN_S: Final = 30.0
"""Before the first copy, and between two."""
REST: Final = 19
"""Rest after a copy, in multiples of the time that it took or failed: copies take a twentieth of a donor's line."""
REST_MAX_S: Final = 6 * 3600.0
"""What one slow donor took is not rested for longer: a copy that took 67 hours was followed by 53 days."""
BUSIEST: Final = 3
"""The shortest rest in multiples of that time, whatever the owner wants: copies take a quarter of a donor's line."""
COPY_S: Final = 2 * 3600.0
"""A download that takes longer is given up."""
BYTES_MAX: Final = 1 << 40
"""Upper bound on a copy, bytes; how much room there is the disk says when one begins."""


class StateKeeper:
    """Decides when the next copy is taken, and knows the last.

    Args:
        catch_up: Downloads it.
        keeps: Whether this peer takes copies.
    """

    def __init__(self, catch_up: CatchUp, *, keeps: bool) -> None:
        self._catch_up = catch_up
        self._keeps = keeps
        self.newest: StateKept | None = None
        """What is given."""
        self._next: NewerState | None = None
        """What is being fetched, or taken by the owner."""
        self._began_at = 0.0
        self._gives_up_at = math.inf
        """When what is being fetched is given up, unix seconds; what the owner checks is waited for."""
        self._took_s = 0.0
        """Time that the last copy took, or failed."""
        self._every_s: float | None = None
        self._rests_until: float | None = None
        """Unix seconds; None: it has not looked yet."""

    def every(self, seconds: float | None, now: float) -> None:
        """Take copies as often as the owner wants; None: as often as is usual."""
        self._every_s = seconds
        if self._rests_until is not None and self._next is None:
            self._rests_until = now + self._rest_s()

    def _rest_s(self) -> float:
        if self._every_s is not None:
            return max(REST_MIN_S, self._every_s - self._took_s, BUSIEST * self._took_s)
        return min(max(REST_MIN_S, REST * self._took_s), REST_MAX_S)

    def consider(self, name: StateName | None, now: float) -> list[Output]:
        """Fetch the state where most stand, when it is time for another copy.

        Args:
            name: The state; None: it is not known.
            now: Unix seconds.
        """
        if self._rests_until is None:
            self._rests_until = now + REST_MIN_S
        if self._next is not None and now > self._gives_up_at:
            self._rest(now)
            return self._catch_up.stop(now, loading=True)
        if not self._keeps or self._next is not None or now < self._rests_until or name is None or not name.epoch:
            return []
        has = self.newest is not None and self.newest.name == name
        offer = None if has else self._catch_up.choice.copy_of(name, now)
        if offer is None:
            return []
        self._next, self._began_at, self._gives_up_at = offer, now, now + COPY_S
        return self._catch_up.begin(offer, now, size_max=BYTES_MAX)

    def followed(self, event: Asked | StateFetched | MeansFetched | CatchUpFailed, now: float) -> list[Output]:
        """Have the owner keep what was fetched; after a failure wait for the next time."""
        match event:
            case StateFetched(name=name, location=location) if self._next is not None:
                self._gives_up_at = math.inf
                return [Keep(location, name, self._next.digest)]
            case CatchUpFailed(reason=reason) if self._next is not None:
                self._rest(now)
                return [CopyFailed(reason)]
        return []

    def answered(self, answer: StateKept | StateNotKept, now: float) -> None:
        """Take note of what the owner has made of a copy, or of one that it found when it started."""
        if isinstance(answer, StateKept):
            self.newest = answer
            self._catch_up.arrived(answer.name)
            self._catch_up.donor.offer(answer.file)
        elif answer.lied:
            self._catch_up.refused(now)
        if self._next is not None:
            self._rest(now)

    def drop(self, now: float) -> list[Output]:
        """Give up the copy that is being fetched."""
        if self._next is None:
            return []
        self._rest(now)
        return self._catch_up.stop(now, loading=False)

    def _rest(self, now: float) -> None:
        self._next, self._took_s = None, now - self._began_at
        self._rests_until = now + self._rest_s()
