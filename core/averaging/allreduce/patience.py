"""For whom one member waits in a round, for how long, and who turns out to be late."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from core.averaging.allreduce.laggards import REDUCERS_FROM, SENDERS_FROM, Laggards
from core.averaging.allreduce.lane import Lane
from core.averaging.allreduce.overtime import SLOWER, Overtime, is_few
from core.averaging.allreduce.reducer import Reducer
from core.averaging.allreduce.repeater import Repeater
from core.averaging.allreduce.windows import pace_s, planned_s
from core.averaging.codecs import Codec
from core.averaging.plan import Plan
from core.base.machine import earliest
from core.base.trace import Trace

REDUCER_PATIENCE: Final = 2.0
"""A reducer is given so many times a sender's patience: it may itself have waited one for a sender."""

Versioned = list[tuple[int, int]]
"""Shares, with their versions."""


class Patience:
    """What a member knows of those whose means and parts it waits for.  It sends nothing and drops nobody itself.

    Args:
        plan: The round's plan.
        me: My index in it.
        lanes: One for each share; the exchange goes on with them.
        reducers: The shares that I reduce; the same.
        codec: How numbers look on the wire.
        trace: Where incidents are marked.
        hurried: See `Overtime`.
        usual: See `Remembered`.
    """

    def __init__(  # noqa: PLR0913 - all of it is the round's own context, fixed at birth
        self,
        plan: Plan,
        me: int,
        *,
        lanes: Sequence[Lane],
        reducers: Mapping[int, Reducer | Repeater],
        codec: Codec,
        trace: Trace,
        hurried: int = 0,
        usual: float = 1.0,
    ) -> None:
        self._plan = plan
        self._me = me
        self._lanes = lanes
        self._reducers = reducers
        self._trace = trace
        self._hurried = hurried
        self.planned_s = usual * planned_s(plan, codec)
        """How long the plan's lines say the round takes, as rounds usually go; 0: it knows none."""
        self.seconds = tuple(plan.stall_timeout_s + SLOWER * pace for pace in pace_s(plan, codec))
        """For each share, how long a sender may let it wait."""
        self.blamed = 0
        """Reducers of which I have complained, as long as they were there (bits)."""
        self._asked_again: set[tuple[int, int, int]] = set()
        """Ranks of leaders, and shares with versions, of which I have complained to them when they urged me."""
        self._senders = self._means = self._alone = Overtime(plan, planned_s=0.0, began_at=0.0)
        self._slow_means = self._slow_parts = Laggards(0.0, plan.round_timeout_s)

    def begin(self, now: float) -> None:
        """The round begins."""
        self._slow_means = Laggards(now, self._plan.round_timeout_s)
        self._slow_parts = Laggards(now, self._plan.round_timeout_s)
        self._senders = Overtime(self._plan, planned_s=self.planned_s, began_at=now, hurried=self._hurried)
        self._means = Overtime(self._plan, planned_s=self.planned_s, began_at=now)
        self._alone = Overtime(self._plan, planned_s=self.planned_s, began_at=now, slower=1.0)

    @property
    def slow(self) -> int:
        """Senders for whom my share has waited too long (bits); not who was hurried."""
        return self._senders.slow

    @property
    def behind(self) -> int:
        """Reducers whose means came too late (bits)."""
        return self._means.slow

    def overtime(self, share: int, now: float) -> Overtime:
        """What counts for whom a share waits that I begin to reduce; no plan knows how long that takes anew."""
        return Overtime(self._plan, planned_s=0.0, began_at=now) if self._lanes[share].version else self._senders

    def left(self, member: int, now: float) -> None:
        """A sender is left behind."""
        self._senders.left([member], now)

    @property
    def deadline(self) -> float | None:
        """When a sender or a reducer may be overdue; progress puts that off."""
        waiting = (self._due_at(share) for share, _ in self._waiting())
        reducing = (reducer.deadline for reducer in self._reducers.values())
        looks = (self._slow_means.deadline, self._slow_parts.deadline)
        return earliest(min(waiting, default=None), *reducing, *looks)

    def count_means(self, now: float) -> None:
        """Before it changes for whose means I wait.

        As long as I wait for senders myself, so may other reducers; and no plan knows how long a share takes anew.
        """
        if not self._alone.over(now):
            return
        waiting = [] if self._excused else [lane for _, lane in self._waiting()]
        awaited = {lane.reducer for lane in waiting if lane.reducer == lane.maker}  # who repeats means owes nothing
        for counted in (self._means, self._alone):
            counted.count(awaited, now, of=self._others)

    def too_slow(self, now: float) -> list[tuple[int, int]]:
        """The few senders for which a share that I reduce would not be done in time: share and sender."""
        going = {s: reducer for s, reducer in self._reducers.items() if not reducer.complete}
        versions = {s: self._lanes[s].version for s in going}
        look, late = self._slow_parts.look(now, lambda: {(s, versions[s]): self._lanes[s].left for s in going})
        found = []
        for share, reducer in going.items() if look else ():
            slow = reducer.hold_ups()
            if look >= SENDERS_FROM and (share, versions[share]) in late:
                found += [(share, member) for member in slow]
        for _ in found:
            self._trace.mark("averaging.sender_too_slow")
        return found

    def overdue(self, now: float) -> list[tuple[int, int]]:
        """Senders whose parts do not come: share and sender."""
        found = [(share, member) for share, reducer in self._reducers.items() for member in reducer.overdue(now)]
        for _ in found:
            self._trace.mark("averaging.sender_stalled")
        return found

    def stalled(self, now: float) -> Versioned:
        """Shares that have long been without means.  As good as that is what would not be done by the round's end."""
        look, late = self._slow_means.look(
            now, lambda: {(share, lane.version): lane.left for share, lane in self._waiting()}
        )
        found = []
        for share, lane in self._waiting():
            slow = look >= REDUCERS_FROM and (share, lane.version) in late
            if slow or self._due_at(share) <= now:
                lane.progress_at = now
                self.blamed |= 1 << lane.reducer
                found.append((share, lane.version))
        return found

    def urged(self, now: float, *, rank: int) -> Versioned:
        """The others are done: the shares that I am to get from others than now; each once for the leader of a rank.

        None, if it is of most reducers that I lack means: then my own line is to blame, or the sender in me.
        """
        self.count_means(now)
        waiting = list(self._waiting())
        if not is_few(len({lane.reducer for _, lane in waiting}), of=self._others):
            return []
        makers = {lane.reducer for _, lane in waiting if lane.reducer == lane.maker and self._others > 1}
        self._means.left([maker for maker in makers if self._alone.kept_waiting(maker)], now)
        asked = {(rank, share, lane.version) for share, lane in waiting} - self._asked_again
        self._asked_again |= asked  # a successor has not heard what its predecessor was told
        return sorted((share, version) for _, share, version in asked)

    # --- inside ---

    def _waiting(self) -> Iterator[tuple[int, Lane]]:
        """The lanes in which I wait for another's means."""
        if not self._plan.members[self._me].receives:
            return iter(())
        return (
            (share, lane) for share, lane in enumerate(self._lanes) if not lane.complete and lane.reducer != self._me
        )

    @property
    def _excused(self) -> bool:
        """Whether reducers may have reasons to be late with their means."""
        anew = any(lane.version for lane in self._lanes)
        return anew or not all(reducer.complete for reducer in self._reducers.values())

    @property
    def _others(self) -> int:
        """How many others have a share."""
        return sum(1 for share, lane in enumerate(self._lanes) if lane.count and share != self._me)

    def _due_at(self, share: int) -> float:
        return self._lanes[share].progress_at + REDUCER_PATIENCE * self.seconds[share]
