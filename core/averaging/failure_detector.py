"""Which members of a round are waited for in vain: one rule and one timetable for all that wait.

A member that owes something is overdue when nothing has come of it for its patience.  It is also overdue when the time
of its stage is over and few owe anything: where many do, a single member is not the reason.  Of few, each has no more
time beyond that of the others than it has earned (`core.averaging.patience`).

The timetable follows from P, the time that the plan's lines say the round takes, as rounds usually go, and from S, the
stall timeout.  Reducers may have waited for senders, so they have more time:

    parts      a reducer waits for senders            2 P + S / 2        at most 0.4 of the round's time
    means      a member waits for reducers            3 P + S            at most 0.6
    complete   the coordinator waits for members      2 P + S / 2, and P since most members hold all means

Where the plan knows no lines, P is a fifth of the round's time.  No stage ends before P where it knows them, except for
strangers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from core.averaging.messages import Members
from core.averaging.patience import Waited
from core.base.machine import earliest

STAGE_PART: Final = 1 / 2
"""Part of what a member has earned that one stage may take of it: it may keep others waiting with its part, and again
with its word that it holds all means."""
ASKED_AT: Final = 1.5
"""After so many times P means that few reducers have not given are asked for elsewhere."""
STAGES: Final = 5
"""The round's time has so many parts: parts have two of them, means three, so that time is left to mend what fails."""
LAG_PART: Final = 4
"""One part in so many of the stall timeout: means that a reducer does not give for so long are asked for elsewhere.
Each stage has twice that on top of the planned time."""
LOOK_PART: Final = 1 / 8
"""Part of a round's time so far after which waiters look again."""
LOOK_LEAST_S: Final = 0.02
"""They look no more often than this, seconds."""


class Stage(IntEnum):
    """The stage of a round in which a waiter is, named after what it waits for."""

    PARTS = 1
    MEANS = 2
    COMPLETE = 3


@dataclass(frozen=True, slots=True)
class Timetable:
    """When the stages of one round are over.

    Args:
        began_at: When the round began, unix seconds.
        planned_s: P, as the plan says; 0: it knows no lines.
        stall_s: S.
        round_s: The round's time.
        waits: How long members have beyond the others' time; one that is missing has what the stage has.
    """

    began_at: float
    planned_s: float
    stall_s: float
    round_s: float
    waits: Mapping[int, Waited] = field(default_factory=dict)

    @property
    def usual_s(self) -> float:
        """P; where the plan knows no lines, a part of the round's time."""
        return self.planned_s or self.round_s / STAGES

    @property
    def lag_s(self) -> float:
        """How long a member that was asked for means may give none before another is asked."""
        return self.stall_s / LAG_PART

    @property
    def lags_at(self) -> float:
        """When means that few reducers have not given are asked for elsewhere, unix seconds."""
        return self.began_at + ASKED_AT * self.usual_s

    def chunk_s(self, chunks: int) -> float:
        """How long one of a share's chunks may take: twice what the plan says."""
        return 2 * self.planned_s / max(1, chunks)

    def look_at(self, now: float) -> float:
        """When to look again for members that are late, unix seconds."""
        return now + min(self.lag_s / 2, max(LOOK_LEAST_S, LOOK_PART * (now - self.began_at)))

    def due_at(self, stage: Stage, member: int, since: float) -> float:
        """When a member is overdue.

        Args:
            stage: For what it is waited.
            member: Its place in the plan.
            since: When it began to be one of few that are waited for, unix seconds.
        """
        stages = 2 if stage is Stage.MEANS else 1
        usual_s = (1 + stages) * self.usual_s + stages * 2 * self.lag_s
        due_s = max(ASKED_AT * self.planned_s, min(usual_s, (1 + stages) * self.round_s / STAGES))
        fetch_s = self.usual_s if stage is Stage.COMPLETE else 0.0
        due_at = max(self.began_at + due_s, since + self.lag_s + fetch_s)
        if member in self.waits:
            waited = self.waits[member]
            planned_at = since if waited.stranger else self.began_at + self.planned_s  # a silent one stops all chunks
            due_at = min(due_at, max(planned_at, since) + STAGE_PART * waited.seconds)
        return due_at


class FailureDetector:
    """What one waiter knows of the members that owe it something.

    Args:
        timetable: Timetable of the round.
        stage: For what it waits.
        patience_s: How long nothing may come of a member.
    """

    def __init__(self, timetable: Timetable, stage: Stage, *, patience_s: float) -> None:
        self._timetable = timetable
        self._stage = stage
        self._patience_s = patience_s
        self._moved_at: dict[int, float] = {}
        self._few_since: dict[int, float] = {}
        self._owing: Members = frozenset()
        self._owed_at = timetable.began_at
        self.waited_s: dict[int, float] = {}
        """How long each member was one of few that were waited for, after the planned time."""

    def moved(self, member: int, now: float) -> None:
        """The waiter notes that a member made progress, which renews its patience with it."""
        self._moved_at[member] = now

    def owe(self, members: Members, now: float, *, few: bool) -> None:
        """Say which members owe something now.

        Args:
            members: These; the patience with a member begins when it begins to owe.
            now: Unix seconds.
            few: They are so few that the timetable applies to them.
        """
        for member in members - self._owing:
            self._moved_at[member] = now
        self._owing = members
        before = self._few_since
        self._few_since = {member: before.get(member, now) for member in members} if few else {}
        for member in before.keys() & self._few_since:
            self.waited_s[member] = self.waited_s.get(member, 0.0) + max(0.0, now - self._owed_at)
        self._owed_at = max(now, self._timetable.began_at + self._timetable.planned_s)

    def are_few(self, members: Members, *, of: int) -> bool:
        """Whether these are the smaller part of so many others, or a single one, strangers aside."""
        waits = self._timetable.waits
        known = [member for member in members if member not in waits or not waits[member].stranger]
        return bool(members) and len(known) <= max(1, (of - 1) // 2)

    def is_awaited(self, member: int) -> bool:
        """Whether a member is one of few that are waited for."""
        return member in self._few_since

    def overdue(self, now: float) -> list[int]:
        """Members that are waited for in vain."""
        return [member for member in sorted(self._owing) if self._overdue_at(member) <= now]

    @property
    def deadline(self) -> float | None:
        """When the next member is overdue, unix seconds."""
        return earliest(*(self._overdue_at(member) for member in self._owing))

    def _overdue_at(self, member: int) -> float:
        silent_at, since = self._silent_at(member), self._few_since.get(member)
        return silent_at if since is None else min(silent_at, self._timetable.due_at(self._stage, member, since))

    def _silent_at(self, member: int) -> float:
        return self._moved_at[member] + self._patience_s
