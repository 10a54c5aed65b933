"""How the members of one group come together for a stage: a rotating coordinator, and stand-ins for the dead."""

from collections.abc import Collection
from typing import Final

import msgspec

from core.averaging.commit.coordinator import HEARTBEATS
from core.averaging.failure_detector import FailureDetector, Stage, Timetable
from core.averaging.grid.layout import Group
from core.averaging.grid.plans import Arrived, Holding, StagePlan, check_holding, divided
from core.averaging.plan import Plan
from core.base.machine import Send, earliest
from core.base.wire import Message

ATTEMPT_STALLS: Final = 3
"""Stall timeouts after which another coordinator tries: members are silent after one, stand-ins after another."""


class Gathering:
    """One member's view of its group before a stage.

    Every member tells every other that it has arrived.  Attempt k is coordinated by the group's member k, in turn.  It
    waits for all members that are busy elsewhere, and for none that is gone: lost, or silent for the stall timeout, as
    a member beyond the stage is.  Where a block has no member left in the group, others of the block are asked to stand
    in, one after the other; a block of which all are gone is left out.  Then it publishes the attempt's plan.  A later
    attempt replaces an earlier one: where the coordinator is gone, is late, or the stage failed, the next one begins.

    Args:
        plan: Plan of the whole round.
        group: The group and its stage.
        me: This member's place in the plan.
        holding: What it holds.
        gone: Members that are lost; silent ones are added, and the owner takes out all that are heard.
    """

    def __init__(self, plan: Plan, group: Group, me: int, holding: Holding, gone: set[int]) -> None:
        self._plan = plan
        self._me = me
        self._mine = holding
        self._gone = gone
        self._unfit: set[int] = set()
        self._here: dict[int, Holding] = {}
        self._asked: set[int] = set()
        timetable = Timetable(0.0, 0.0, plan.stall_timeout_s, plan.round_timeout_s)
        self._detector = FailureDetector(timetable, Stage.PARTS, patience_s=plan.stall_timeout_s)
        self._beat_at = self._until = 0.0
        self.group = group
        self.attempt = 0
        self.called: StagePlan | None = None
        """The attempt that is under way; None while the group gathers."""

    def gather(self, attempt: int, now: float, *, unfit: Collection[int] = ()) -> None:
        """Another attempt begins.

        Args:
            attempt: Its number.
            now: Unix seconds.
            unfit: Members whose parts did not all come: others of their blocks give, and they are waited for only if
                there are none.
        """
        self.attempt, self.called = attempt, None
        self._unfit.update({*unfit} - {self._me})
        self._here, self._asked = {self._me: self._mine}, set()
        self._beat_at, self._until = now, now + ATTEMPT_STALLS * self._plan.stall_timeout_s

    def receive(self, member: int, word: Arrived, now: float) -> Arrived | None:
        """A member of the group says where it is, or another that it comes to stand in.

        Returns:
            The answer.

        Raises:
            RemoteProblem: it holds what its block cannot hold.
        """
        self._detector.moved(member, now)
        if word.holding is None:
            return None
        check_holding(self._plan, word.holding, self.group.block_of(member))
        if self.called is not None:
            return msgspec.structs.replace(word, holding=None)
        if word.attempt > self.attempt and member in self.group.members and self._is_near(word.attempt):
            self.gather(word.attempt, now)
        if word.attempt == self.attempt:
            self._here[member] = word.holding
        return self._arrived if word.attempt < self.attempt else None

    def begins(self, member: int, word: StagePlan) -> bool:
        """Whether this member follows a stage's plan, which has been checked; then the attempt begins."""
        due = self.called is None and word.attempt >= self.attempt and self._is_near(word.attempt)
        if due and member == self.group.coordinator(word.attempt):
            self.attempt, self.called = word.attempt, word
        return self.called is word

    def advance(self, now: float) -> list[Send[Message]]:
        """Notice silent members, go on to the next attempt, or decide this one, as far as that is due."""
        group, plan = self.group, self._plan
        awaited = {*group.members, *self._asked} - self._gone - {self._me}
        self._detector.owe(frozenset(awaited if self.called is None else ()), now, few=False)
        self._gone.update(self._detector.overdue(now))
        if self.called is not None:
            return []
        skipped = self._gone | self._unfit
        while group.coordinator(self.attempt) in skipped or now >= self._until:
            self.gather(self.attempt + 1, now)
        if group.coordinator(self.attempt) == self._me and {*group.members} <= {*self._here, *skipped}:
            chosen = [giver for block in group.blocks if (giver := self._giver(block)) is not None]
            awaited = {*chosen} - self._here.keys()
            if not awaited:
                self.called = self._decided(chosen)
                return [Send(plan.peers[member], self.called) for member in self.called.members if member != self._me]
            self._beat_at = self._beat_at if awaited <= self._asked else now
            self._asked |= awaited
        if now < self._beat_at:
            return []
        self._beat_at = now + plan.stall_timeout_s / HEARTBEATS
        return [
            Send(plan.peers[member], self._arrived) for member in sorted({*group.members, *self._asked} - {self._me})
        ]

    @property
    def deadline(self) -> float | None:
        """When a heartbeat is due, or a patience ends; None: the attempt is under way."""
        return None if self.called is not None else earliest(self._beat_at, self._until, self._detector.deadline)

    def _decided(self, chosen: Collection[int]) -> StagePlan:
        """The attempt's plan: the chosen members give, and the rest of the group takes part."""
        others = tuple(m for m in self.group.members if m in self._here and m not in {*self._gone, *chosen})
        givers = tuple((member, self._here[member]) for member in chosen)
        plain = StagePlan(self._plan.round, self.group.stage, self.group.number, self.attempt, givers, others, ())
        return divided(self._plan, plain, self.group)

    def _giver(self, block: tuple[int, ...]) -> int | None:
        """The member that is to give for a block: of this group, else of another one; groups begin at different ones.

        One whose parts did not come comes last.
        """
        turn = self.group.number % len(block)
        living = [member for member in (*block[turn:], *block[:turn]) if member not in self._gone]
        return min(living, key=lambda m: (m in self._unfit, m not in self.group.members), default=None)

    def _is_near(self, attempt: int) -> bool:
        """Whether an attempt is within one turn of coordinators: no single message may use all attempts up."""
        return attempt <= self.attempt + len(self.group.members)

    @property
    def _arrived(self) -> Arrived:
        return Arrived(self._plan.round, self.group.stage, self.group.number, self.attempt, self._mine)
