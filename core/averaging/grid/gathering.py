"""How the members of one group come together for a stage: a rotating coordinator, and stand-ins for the dead."""

from collections.abc import Collection
from typing import Final

from core.averaging.commit.coordinator import HEARTBEATS
from core.averaging.failure_detector import FailureDetector, Stage, Timetable
from core.averaging.grid.layout import Group
from core.averaging.grid.plans import (
    ATTEMPTS_MAX,
    Arrived,
    Holding,
    StageBusy,
    StageMember,
    StagePlan,
    StandIn,
    check_holding,
    divided,
)
from core.averaging.plan import Plan
from core.base.machine import earliest

ATTEMPT_STALLS: Final = 3
"""Stall timeouts after which another coordinator tries: members are silent after one, stand-ins after another."""
UNFIT_PATIENCE: Final = 0.2
"""Part of the stall timeout that a member has whose parts did not all come: the group has just waited for it."""

Told = list[tuple[int, Arrived | StageBusy | StandIn | StagePlan]]
"""Messages, with the place in the plan of the member that gets each."""


class Gathering:
    """One member's view of its group before a stage.

    Every member tells every other that it has arrived.  Attempt k is coordinated by the group's member k, in turn.  It
    waits for all members that are busy elsewhere, and for none that is gone: lost, beyond the stage, or silent for the
    stall timeout.  Where a block has no member left in the group, others of the block are asked to stand in, one after
    the other; a block of which all are gone is left out.  Then it publishes the attempt's plan.  A later attempt
    replaces an earlier one: where the coordinator is gone, is late, or the stage failed, the next one begins.

    Args:
        plan: Of the whole round.
        group: The group and its stage.
        me: This member's place in the plan.
        holding: What it holds.
        gone: Members that are lost.
    """

    def __init__(self, plan: Plan, group: Group, me: int, holding: Holding, gone: Collection[int]) -> None:
        self._plan = plan
        self._me = me
        self._mine = holding
        self._gone = {*gone} - {me}
        self._unfit: set[int] = set()
        self._here: dict[int, Holding] = {}
        self._asked: dict[int, int] = {}
        self._detector = new_detector(plan, 0.0)
        self._beat_at = self._until = 0.0
        self.group = group
        self.attempt = -1
        self.called: StagePlan | None = None
        """The attempt that is under way; None while the group gathers."""

    def retry(self, now: float, *, attempt: int | None = None, unfit: Collection[int] = ()) -> Told:
        """Gather for another attempt, the next one that a member coordinates which is not gone.

        Args:
            now: Unix seconds.
            attempt: The attempt that another member makes; None: the one after this one.
            unfit: Members whose parts did not all come: others of their blocks give, if there are any.
        """
        if self.called is not None or self.attempt < 0:  # else the patience with silent members goes on
            self._detector = new_detector(self._plan, now)
            self._detector.owe(self._awaited, now, few=False)
            for member in unfit:
                self._detector.moved(member, now - (1 - UNFIT_PATIENCE) * self._plan.stall_timeout_s)
        self.attempt = self.attempt + 1 if attempt is None else attempt
        while self._coordinator(self.attempt) in self._gone:
            self.attempt += 1
        self.called = None
        self._unfit.update(unfit)
        self._here, self._asked = {self._me: self._mine}, {}
        self._until = now + ATTEMPT_STALLS * self._plan.stall_timeout_s
        return self._beat(now)

    def lose(self, member: int) -> None:
        """A member is gone: its link has ended, or it has left."""
        self._gone.add(member)

    def receive(self, member: int, word: Arrived | StageBusy, now: float) -> Told:
        """A member of the group says where it is, or another that it comes to stand in.

        Raises:
            RemoteProblem: it holds what its block cannot hold.
        """
        self._gone.discard(member)
        self._detector.moved(member, now)
        if isinstance(word, StageBusy):
            self._gone.update({member} if word.passed else ())
            return []
        block = next((block for block in self.group.blocks if member in block), ())
        check_holding(self._plan, word.holding, block)
        called, told = self.called, Told()
        if called is not None:
            again = called.attempt == word.attempt and any(entry.member == member for entry in called.entries)
            return [(member, called if again else busy(word, passed=False))]
        if word.attempt > self.attempt and member in self.group.members and self._is_near(word.attempt):
            told = self.retry(now, attempt=word.attempt)
        elif word.attempt < self.attempt:
            told = [(member, self._arrived)]
        if word.attempt == self.attempt and member in {*self.group.members, *self._asked.values()}:
            self._here[member] = word.holding
        return told

    def begins(self, member: int, word: StagePlan) -> bool:
        """Whether this member follows a stage's plan, which has been checked; then the attempt begins."""
        due = self.called is None and word.attempt >= self.attempt and self._is_near(word.attempt)
        if not due or member != self._coordinator(word.attempt):
            return False
        self.attempt, self.called = word.attempt, word
        return True

    def advance(self, now: float) -> Told:
        """Notice silent members, go on to the next attempt, or decide this one, as far as that is due."""
        if self.called is not None:
            return []
        self._detector.owe(self._awaited, now, few=False)
        self._gone.update(self._detector.overdue(now))
        told = Told()
        if self._coordinator(self.attempt) in self._gone or now >= self._until:
            told += self.retry(now)
        if now >= self._beat_at:
            told += self._beat(now)
        decides = self._coordinator(self.attempt) == self._me
        if decides and {*self.group.members} <= {*self._here, *self._gone}:
            told += self._decide()
        return told

    @property
    def deadline(self) -> float | None:
        """When a heartbeat is due, or a patience ends; None: the attempt is under way."""
        return None if self.called is not None else earliest(self._beat_at, self._until, self._detector.deadline)

    @property
    def _awaited(self) -> frozenset[int]:
        return frozenset({*self.group.members, *self._asked.values()} - {self._me} - self._gone)

    # --- the coordinator ---

    def _decide(self) -> Told:
        """Publish the attempt's plan; or ask for stand-ins first."""
        told, entries, waits = Told(), list[StageMember](), False
        for place, members in enumerate(self.group.places):
            here = sorted((m for m in members if m in self._here and m not in self._gone), key=self._unfit.__contains__)
            if not here or here[0] in self._unfit:
                other = self._stand_in(place)
                if other is not None and self._asked.get(place) != other:
                    self._asked[place] = other
                    told.append((other, self._ask))
                waits |= other is not None and other not in self._here
                here = here if other is None else [other, *here]
            for turn, member in enumerate(here):
                entries.append(StageMember(member, place, None if turn else self._here.get(member)))
        if waits:
            return told
        entries.sort(key=lambda entry: entry.holding is None)
        plain = StagePlan(self._plan.round, self.group.stage, self.group.number, self.attempt, tuple(entries), ())
        self.called = word = divided(self._plan, plain, self.group)
        return [*told, *((entry.member, word) for entry in entries if entry.member != self._me)]

    def _stand_in(self, place: int) -> int | None:
        """A member of another group that may give for a block; groups begin at different ones."""
        block = self.group.blocks[place]
        turn = self.group.number % len(block)
        able = [m for m in (*block[turn:], *block[:turn]) if m not in {*self.group.members, *self._unfit, *self._gone}]
        asked = self._asked.get(place)
        return asked if asked in able else next(iter(able), None)

    def _coordinator(self, attempt: int) -> int:
        return self.group.members[attempt % len(self.group.members)]

    def _is_near(self, attempt: int) -> bool:
        """Within one turn of coordinators: nobody brings the attempts to an end with a single message."""
        return attempt < min(ATTEMPTS_MAX, self.attempt + 1 + len(self.group.members))

    def _beat(self, now: float) -> Told:
        self._beat_at = now + self._plan.stall_timeout_s / HEARTBEATS
        told: Told = [(member, self._arrived) for member in self.group.members if member != self._me]
        return [*told, *((member, self._ask) for member in self._asked.values())]

    @property
    def _arrived(self) -> Arrived:
        return Arrived(self._plan.round, self.group.stage, self.group.number, self.attempt, self._mine)

    @property
    def _ask(self) -> StandIn:
        return StandIn(self._plan.round, self.group.stage, self.group.number, self.attempt)


def new_detector(plan: Plan, now: float) -> FailureDetector:
    """Knows which members have been silent for the stall timeout, from now on."""
    timetable = Timetable(now, 0.0, plan.stall_timeout_s, plan.round_timeout_s)
    return FailureDetector(timetable, Stage.PARTS, patience_s=plan.stall_timeout_s)


def busy(word: Arrived | StandIn, *, passed: bool) -> StageBusy:
    """The answer of a member that does not come now."""
    return StageBusy(word.round, word.stage, word.group, word.attempt, passed)
