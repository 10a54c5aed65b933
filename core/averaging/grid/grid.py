"""Averaging in groups on a grid, each stage a butterfly of its own (Moshpit all-reduce; S000 3.2, appendix C).

The first stage averages contributions within the smallest blocks.  A member that is lost there is missing in its
block's mean as it is in any butterfly, for all of the block alike; a block in which too many are lost leaves the round.

Each further stage joins the means of several blocks.  Its group comes together first (`Gathering`), then averages; the
members of one block hold the same bits, and groups of one stage that join the same blocks get the same bits and the
same fingerprint.  That is kept: a stage that lacks any part of a block's mean is not accepted but repeated by its
group, and by it alone, with another member of the block in the place of the one that failed.  A member that does not
get the same mean in time leaves the round without one.  So members never hold different means under one name, and a
failure costs one group a stage.

What can still differ: a block all of whose members are out of reach for one group and not for another.  The names
differ then, and the swarm moves to the greater one (`core.swarm.words.states`).

Where it pays.  One butterfly is the rule: a grid of R stages sends the vector R times.  By the expected stages of a
protocol that begins anew at each failure (`grid.layout`), a grid is shorter from a failure rate, a member and round, of
0.092 with 16 members, 0.021 with 64 and 0.005 with 256 (decision 0009), and plans go by that.  A butterfly of ours
survives most failures, so that is early: with 16 and 36 members of which a tenth dies in each round, the grid took 2.1
to 2.3 times as long, and its means lacked 24 to 39 % fewer contributions; with 16 of which 30 % die, 2.1 times as long,
34 % fewer, but 7 % instead of 1 % of the others were left without a mean (`docs/protocols/groups.md`).  Lines that
differ do not justify a grid: each group is balanced by itself, and a stage waits for the slowest of the one before.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import msgspec

from core.averaging.allreduce.vectors import Vector
from core.averaging.butterfly import Butterfly, Outputs, RoundInput
from core.averaging.grid.gathering import Gathering
from core.averaging.grid.layout import Group, group_of, layout_of
from core.averaging.grid.plans import (
    Arrived,
    GridMessage,
    Holding,
    StagePlan,
    check_stage_plan,
    first_plan,
    joined,
    later_plan,
    round_outcome,
)
from core.averaging.matchmaking.division import check_shares
from core.averaging.messages import Leaving, RoundMessage
from core.averaging.outcome import Outcome, RoundFailed, RoundFinished
from core.averaging.plan import Plan
from core.base.arrays import np
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, Trace, earliest
from core.base.problems import RemoteProblem


class StageRounds:
    """The butterflies of one grid in which a member takes part: its own, and the one in which it stands in.

    Args:
        me: This member.
        work: How numbers travel and are averaged.
        trace: Counts misuse and incidents.
    """

    def __init__(self, me: PeerId, work: RoundInput, trace: Trace) -> None:
        self._me = me
        self._work = work
        self._trace = trace
        self._visit = b""
        self.running: dict[bytes, Butterfly] = {}
        """By their ids; those that have ended still answer."""

    def begin(self, plan: Plan, vectors: tuple[Vector, Vector], now: float, *, visits: bool = False) -> Outputs:
        """A butterfly begins.

        Args:
            plan: Its plan.
            vectors: What this member contributes, and where the mean is to be; shape (numel,).
            now: Unix seconds.
            visits: Whether it stands in; then there must be room.
        """
        if visits:
            self.running.pop(self._visit, None)
            self._visit = plan.round
        work = replace(self._work, contribution=vectors[0], result=vectors[1])
        butterfly = Butterfly(self._me, plan, work, trace=self._trace)
        self.running[plan.round] = butterfly
        return butterfly.start(now)

    def handle(self, event: Tick | Lost, now: float) -> Outputs:
        """All butterflies notice the time, or a lost member."""
        return [output for butterfly in [*self.running.values()] for output in butterfly.handle(event, now)]

    @property
    def has_room(self) -> bool:
        """Whether this member stands in nowhere now: each time takes room for another vector."""
        return self._visit not in self.running or self.running[self._visit].deadline is None

    @property
    def deadline(self) -> float | None:
        """When to be woken with a Tick, unix seconds."""
        return earliest(*(butterfly.deadline for butterfly in self.running.values()))


class Grid:
    """One member's side of a round on a grid; see the module's docstring, and `Butterfly` for the arguments.

    It takes room for one more vector than a butterfly for each stage but the last: what a member brought to a stage it
    keeps, so that it can stand in for another of its block, in one other group at a time.

    Raises:
        ValueError: no vectors, a codec that needs feedback, or a plan without this member or of one stage.
    """

    def __init__(self, me: PeerId, plan: Plan, work: RoundInput, *, trace: Trace) -> None:
        if work.contribution is None or work.result is None or work.carry is not None:
            raise ValueError("a grid is for members that have vectors, and for codecs that need no feedback")
        if me not in plan.peers or plan.stages < 2:
            raise ValueError("the plan lacks this member, or has no grid")
        self.plan = plan
        self._me = plan.peers.index(me)
        self._others = {peer: place for place, peer in enumerate(plan.peers) if peer != me}
        self._trace = trace
        self._layout = layout_of(plan)
        # A stage's parts may be means of means: they are neither proven nor looked at.
        self.rounds = StageRounds(me, replace(work, identity=None, distances=None), trace)
        self._gone: set[int] = set()
        self._result = work.result
        self._brought: list[tuple[Vector, Holding | None]] = [(work.contribution, None)]
        self._running = b"", work.result
        self._gathering: Gathering | None = None
        self._outcomes: list[Outcome] = []
        self._began_at: float | None = None
        self._ends_at: float | None = None

    # --- owner's side ---

    def start(self, now: float) -> Outputs:
        """The owner begins the first stage, in this member's smallest block; to be called once."""
        self._began_at, self._ends_at = now, now + self.plan.stages * self.plan.round_timeout_s
        return self._follow(self._average(first_plan(self.plan, group_of(self._layout[0], self._me)), now), now)

    def leave(self) -> Outputs:
        """End the round for this member, and tell the others at once."""
        return [] if self._ends_at is None else self._fail("this computer left the round")

    def concerns(self, round_id: bytes) -> bool:
        """Whether messages of the round with this id are for it."""
        return round_id == self.plan.round or round_id in self.rounds.running

    @property
    def deadline(self) -> float | None:
        """When to be woken with a Tick, unix seconds."""
        gathering = None if self._gathering is None else self._gathering.deadline
        return earliest(self._ends_at, gathering, self.rounds.deadline)

    @property
    def leader(self) -> PeerId:
        """The first of the plan's leaders that is not gone, as far as this member knows."""
        return self.plan.peers[next(member for member in self.plan.leaders if member not in self._gone)]

    def handle(self, event: Received[RoundMessage | GridMessage] | Tick | Lost, now: float) -> Outputs:
        """An event moves this member's stage or a round that it visits on; one from a stranger is dropped."""
        peer = None if isinstance(event, Tick) else event.peer if isinstance(event, Lost) else event.sender
        if self._began_at is None or (peer is not None and peer not in self._others):
            self._trace.mark("averaging.drop.early" if self._began_at is None else "averaging.drop.foreign")
            return []
        if isinstance(event, Received):
            return self._follow(self._receive(event.sender, event.message, now), now)
        if isinstance(event, Lost):
            self._gone.add(self._others[event.peer])
        elif self._ends_at is not None and now >= self._ends_at:
            return self._fail("the round's time is over")
        return self._follow(self.rounds.handle(event, now), now)

    # --- messages ---

    def _receive(self, sender: PeerId, message: RoundMessage | GridMessage, now: float) -> Outputs:
        self._gone.discard(self._others[sender])
        if isinstance(message, Arrived | StagePlan):
            try:
                return self._hear(sender, message, now)
            except RemoteProblem:
                self._trace.mark("averaging.drop.stage")
                return []
        if message.round in self.rounds.running:
            return self.rounds.running[message.round].handle(Received(sender, message), now)
        if isinstance(message, Leaving) and message.round == self.plan.round:
            self._gone.add(self._others[sender])
            return self.rounds.handle(Lost(sender, "left"), now)
        self._trace.mark("averaging.drop.foreign")
        return []

    def _hear(self, sender: PeerId, word: GridMessage, now: float) -> Outputs:
        """A member speaks of a group at a later stage: of this member's own, or of one in which it may stand in.

        Raises:
            RemoteProblem: it says something that cannot be, or may not say it.
        """
        groups = self._layout[word.stage] if word.stage < self.plan.stages else ()
        if word.round != self.plan.round or word.group >= len(groups):
            raise RemoteProblem("a word about a group that is not on the grid")
        group, gathering, member = groups[word.group], self._gathering, self._others[sender]
        if isinstance(word, Arrived) and gathering is not None and gathering.group == group:
            answer = gathering.receive(member, word, now)
            return [] if answer is None else [Send(sender, answer)]
        if member not in group.members or not group.block_of(self._me):
            raise RemoteProblem("a word from a member that may not say it")
        brought = self._brought[word.stage] if word.stage < len(self._brought) else None
        if isinstance(word, StagePlan):
            return [] if brought is None else self._begin_attempt(member, word, group, now)
        beyond = not self._brought or (brought is not None and self._me in group.members)
        if beyond or word.holding is None:
            return []
        holding = brought[1] if brought is not None and self.rounds.has_room else None
        return [Send(sender, msgspec.structs.replace(word, holding=holding))]

    def _begin_attempt(self, member: int, word: StagePlan, group: Group, now: float) -> Outputs:
        """An attempt begins: of this member's own group, or of one in which it is to stand in.

        Raises:
            RemoteProblem: the plan is not as it has to be.
        """
        vector, holding = self._brought[word.stage]
        check_stage_plan(self.plan, word, group)
        if (self._me, holding) not in word.givers and self._me not in word.others:
            raise RemoteProblem("a stage's plan without this member, or with another mean than its own")
        plan, gathering = later_plan(self.plan, word, group), self._gathering
        check_shares(plan)
        if self._me in group.members:
            begins = gathering is not None and gathering.group == group and gathering.begins(member, word)
            return self._average(plan, now) if begins else []
        if member != group.coordinator(word.attempt) or plan.round in self.rounds.running or not self.rounds.has_room:
            return []
        return self.rounds.begin(plan, (vector, np.empty_like(vector)), now, visits=True)

    # --- stages ---

    def _average(self, plan: Plan, now: float) -> Outputs:
        """This member's group runs its butterfly; the last stage writes to the round's result."""
        mean = self._result if len(self._brought) == self.plan.stages else np.empty_like(self._result)
        self._running = plan.round, mean
        return self.rounds.begin(plan, (self._brought[-1][0], mean), now)

    def _follow(self, outputs: Outputs, now: float) -> Outputs:
        """Act on the end of this member's own butterfly, and go on as far as that is due."""
        followed: Outputs = []
        for output in outputs:
            match output:
                case Send():
                    followed.append(output)
                case RoundFinished(outcome=outcome) if outcome.round == self._running[0]:
                    followed += self._conclude(outcome, now)
                case RoundFailed(round=round_id) if round_id == self._running[0]:
                    if self._gathering is None:
                        followed += self._fail(output.reason, output.suspects)
                    else:
                        self._repeat(self._gathering, (), now)
                case _:  # of a butterfly in which it stood in, or that it has given up
                    pass
        gathering = self._gathering
        if gathering is None or gathering.called is not None:
            return followed
        followed += gathering.advance(now)
        if gathering.called is None:
            return followed
        plan = later_plan(self.plan, gathering.called, gathering.group)
        return followed + self._follow(self._average(plan, now), now)

    def _conclude(self, outcome: Outcome, now: float) -> Outputs:
        """A stage is over: go on to the next one, or end; repeat it, if it lacks anything of a block's mean."""
        gathering, plan = self._gathering, self.plan
        lacking = tuple((plan.peers.index(peer), chunks) for peer, chunks in outcome.missing)
        self._outcomes.append(outcome)
        if gathering is None or gathering.called is None:
            holding = Holding(outcome.fingerprint, lacking)
        elif lacking:
            self._repeat(gathering, [member for member, _ in lacking], now)
            return []
        else:
            holding = joined(plan, gathering.called, gathering.group)
        stage = len(self._brought)
        if stage < plan.stages:
            self._brought.append((self._running[1], holding))
            self._gathering = Gathering(plan, group_of(self._layout[stage], self._me), self._me, holding, self._gone)
            self._gathering.gather(0, now)
            return []
        everybody = range(len(plan.members))
        if holding.missing and 2 * holding.samples(plan, everybody) <= sum(plan.weights):
            return self._fail("too few contributions are left")
        self._ends_at = self._gathering = None
        outcome = round_outcome(plan, holding, self._outcomes)
        return [RoundFinished(replace(outcome, seconds=now - (self._began_at or 0.0)))]

    def _repeat(self, gathering: Gathering, unfit: Collection[int], now: float) -> None:
        """A stage failed for this member: gather again; others give for those whose parts did not come."""
        self._trace.mark("averaging.stage_repeated")
        del self.rounds.running[self._running[0]]
        gathering.gather(gathering.attempt + 1, now, unfit=unfit)

    def _fail(self, reason: str, suspects: tuple[PeerId, ...] = ()) -> Outputs:
        """This member leaves the round, and stands in for nobody any more."""
        self._ends_at = self._gathering = None
        self._brought, self.rounds.running = [], {}
        leaving = [Send(peer, Leaving(self.plan.round)) for peer in self._others]
        return [*leaving, RoundFailed(self.plan.round, reason, suspects)]
