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
differ then, and the swarm moves to the greater one (`core.swarm.states`).

Where it pays.  One butterfly is the rule: a grid of R stages sends the vector R times.  By the expected stages of a
protocol that begins anew at each failure (`grid.layout`), a grid is shorter from a failure rate, a member and round, of
0.091 with 16 members, 0.021 with 64 and 0.005 with 256 (decision 0009), and plans go by that.  A butterfly of ours
survives most failures, so that is early: with 16 and 36 members of which a tenth dies in each round, the grid took 2.1
to 2.3 times as long, and its means lacked 22 to 38 % fewer contributions (`docs/protocols/groups.md`).  Lines that
differ are no reason for a grid: each group is balanced by itself, and a stage waits for the slowest of the one before.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from core.averaging.allreduce.vectors import RoundInput, Vector
from core.averaging.butterfly import Outputs
from core.averaging.commit.messages import Leaving, RoundMessage
from core.averaging.grid.gathering import Gathering, Told, busy
from core.averaging.grid.layout import Group, layout_of
from core.averaging.grid.plans import (
    GRID_MESSAGES,
    Arrived,
    GridMessage,
    Holding,
    StageBusy,
    StagePlan,
    StandIn,
    check_stage_plan,
    first_plan,
    joined,
    later_plan,
    outcome_of,
)
from core.averaging.grid.stage_rounds import StageRounds
from core.averaging.matchmaking.check_plan import check_shares
from core.averaging.outcome import Outcome, RoundFailed, RoundFinished
from core.averaging.penalties.observed import NOTHING, Observations, Remembered
from core.averaging.plan import Plan
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, earliest
from core.base.problems import RemoteProblem
from core.base.trace import Trace


class Grid:
    """One member's side of a round on a grid; see the module's docstring, and `Topology` for the arguments.

    It takes room for one more vector than a butterfly for each stage but the last: what a member brought to a stage it
    keeps, so that it can stand in for another of its block.

    Raises:
        ValueError: a vector of the wrong shape or type, or a plan without this member or of one stage.
    """

    def __init__(
        self,
        me: PeerId,
        plan: Plan,
        work: RoundInput,
        *,
        trace: Trace,
        secret: bytes = b"",
        remembered: Remembered = NOTHING,
    ) -> None:
        contribution, result = work.contribution, work.result
        if contribution is None or result is None or work.carry is not None:
            raise ValueError("a grid is for members that have vectors, and for codecs that need no feedback")
        if me not in plan.peers or plan.stages < 2:
            raise ValueError("the plan is one without this member, or no grid")
        for vector in (contribution, result):
            if vector.shape != (plan.numel,) or vector.dtype != np.float32:
                raise ValueError(f"a vector of shape {vector.shape} and type {vector.dtype} for {plan.numel} float32")
        self.plan = plan
        self._me = plan.peers.index(me)
        self._trace = trace
        self._layout = layout_of(plan)
        self.rounds = StageRounds(me, work, trace, secret, remembered)
        """The butterflies of all stages."""
        self._result = result
        self._brought: list[tuple[Vector, Holding | None]] = [(contribution, None)]
        self._running = b"", result
        self._gathering: Gathering | None = None
        self._invited: dict[Group, tuple[int, int]] = {}
        self._left: set[int] = set()
        self._began_at = 0.0
        self._ends_at: float | None = None
        self._ended = self._failed = False
        self._left_out: tuple[tuple[int, int], ...] = ()
        self._payload_bytes = 0
        self._seen = Observations()
        self.repeated = 0
        """Number of times that this member repeated a stage."""

    # --- owner's side ---

    def start(self, now: float) -> Outputs:
        """The owner begins the first stage, in this member's smallest block; to be called once."""
        self._began_at, self._ends_at = now, now + self.plan.stages * self.plan.round_timeout_s
        return self._average(first_plan(self.plan, self._layout.group_of(0, self._me)), now)

    def leave(self, now: float) -> Outputs:
        """End the round for this member, and tell the others at once."""
        running = self._ends_at is not None and not self._ended
        return self._fail("this computer left the round", now) if running else []

    def concerns(self, round_id: bytes) -> bool:
        """Whether messages of the round with this id are for it."""
        return round_id == self.plan.round or self.rounds.concerns(round_id)

    @property
    def deadline(self) -> float | None:
        """When to be woken with a Tick, unix seconds."""
        if self._ended:
            return self.rounds.deadline
        gathering = None if self._gathering is None else self._gathering.deadline
        return earliest(self._ends_at, gathering, self.rounds.deadline)

    @property
    def leader(self) -> PeerId:
        """The first of the plan's leaders that is not lost, as far as this member knows."""
        peers = [self.plan.peers[member] for member in self.plan.leaders]
        return next(peer for peer in peers if peer not in self.rounds.lost)

    def handle(self, event: Received[RoundMessage | GridMessage] | Tick | Lost, now: float) -> Outputs:
        """An event moves this member's stage or a round that it visits on; one from a stranger is dropped."""
        peers = self.plan.peers
        peer = None if isinstance(event, Tick) else event.peer if isinstance(event, Lost) else event.sender
        if self._ends_at is None or (peer is not None and (peer not in peers or peer == peers[self._me])):
            self._trace.mark("averaging.drop.early" if self._ends_at is None else "averaging.drop.foreign")
            return []
        match event:
            case Received(sender=sender, message=message):
                outputs = self._receive(peers.index(sender), message, now)
            case Tick() if not self._ended and now >= self._ends_at:
                return self._fail("the round's time is over", now)
            case Lost(peer=lost) if self._gathering is not None:
                self._gathering.lose(peers.index(lost))
                outputs = self.rounds.handle(event, now)
            case _:
                outputs = self.rounds.handle(event, now)
        return self._follow(outputs, now)

    # --- messages ---

    def _receive(self, member: int, message: RoundMessage | GridMessage, now: float) -> Outputs:
        peer = self.plan.peers[member]
        try:
            if isinstance(message, Leaving) and message.round == self.plan.round:
                self._left.add(member)
                return self.handle(Lost(peer, "left"), now)
            if member not in self._left:
                self.rounds.lost.discard(peer)
            if isinstance(message, GRID_MESSAGES):
                return self._hear(member, message, now)
            if self.rounds.concerns(message.round):
                return self.rounds.handle(Received(peer, message), now)
        except RemoteProblem:
            self._trace.mark("averaging.drop.stage")
        else:
            self._trace.mark("averaging.drop.foreign")
        return []

    def _hear(self, member: int, word: GridMessage, now: float) -> Outputs:
        """A member speaks of a group at a later stage.

        Raises:
            RemoteProblem: it says something that cannot be, or may not say it.
        """
        groups = self._layout.stages[word.stage] if word.stage < self.plan.stages else ()
        if word.round != self.plan.round or word.group >= len(groups) or member in self._left:
            raise RemoteProblem("a word about a group that is not as the grid has it")
        group, gathering, brought = groups[word.group], self._gathering, self._brought[word.stage : word.stage + 1]
        if gathering is not None and (self._ended or gathering.group != group):
            gathering = None
        outside = {other for block in group.blocks for other in block}.difference(group.members)
        match word:
            case Arrived() | StageBusy() if gathering is not None:
                return sends(self.plan, gathering.receive(member, word, now))
            case StageBusy():
                return []
            case StandIn() if member in group.members and self._me in outside:
                holding = brought[0][1] if brought else None
                if holding is not None and not self._failed and self.rounds.has_room:
                    self._invited[group] = member, word.attempt
                    come = Arrived(word.round, word.stage, word.group, word.attempt, holding)
                    return sends(self.plan, [(member, come)])
            case StagePlan() if member in group.members and brought:
                return self._on_stage_plan(member, word, group, now)
            case StandIn() | StagePlan():
                raise RemoteProblem("a word from a member that may not say it")
        if self._failed:
            return [Send(self.plan.peers[member], Leaving(self.plan.round))]
        passed = isinstance(word, Arrived) and bool(brought)
        return sends(self.plan, [(member, busy(word, passed=passed))])

    def _on_stage_plan(self, member: int, word: StagePlan, group: Group, now: float) -> Outputs:
        """An attempt begins: of this member's own group, or of one that has invited it to stand in.

        Raises:
            RemoteProblem: the plan is not as it has to be.
        """
        vector, holding = self._brought[word.stage]
        mine = [entry.holding for entry in word.entries if entry.member == self._me]
        check_stage_plan(self.plan, word, group)
        if mine not in [[None], [holding]]:
            raise RemoteProblem("a stage's plan without this member, or with another mean than its own")
        gathering, plan = self._gathering, later_plan(self.plan, word, group)
        invited = self._invited.get(group) == (member, word.attempt) and self.rounds.has_room
        if self._failed or not (invited or (gathering is not None and gathering.group == group)):
            return []
        check_shares(plan)
        if invited:
            del self._invited[group]
            return self.rounds.start(plan, (vector, np.empty_like(vector)), now, visit=True)
        return self._average(plan, now) if gathering is not None and gathering.begins(member, word) else []

    # --- stages ---

    def _average(self, plan: Plan, now: float) -> Outputs:
        """This member's group runs its butterfly; the last stage writes to the round's result."""
        mean = self._result if len(self._brought) == self.plan.stages else np.empty_like(self._result)
        self._running = plan.round, mean
        return self._follow(self.rounds.start(plan, (self._brought[-1][0], mean), now), now)

    def _follow(self, outputs: Outputs, now: float) -> Outputs:
        """Act on the end of this member's own butterfly, and go on as far as that is due."""
        followed: Outputs = []
        for output in outputs:
            match output:
                case Send():
                    followed.append(output)
                case RoundFinished(outcome=outcome) if outcome.round == self._running[0]:
                    followed += self._conclude(outcome, now)
                case RoundFailed(round=round_id) if round_id == self._running[0] and not self._ended:
                    if self._gathering is None:
                        followed += self._fail(output.reason, now, output.suspects)
                    else:
                        followed += self._repeat(self._gathering, (), now)
                case _:  # of a butterfly in which it stood in, or that it has given up
                    pass
        gathering = self._gathering
        if gathering is None or gathering.called is not None or self._ended:
            return followed
        followed += sends(self.plan, gathering.advance(now))
        if gathering.called is None:
            return followed
        return followed + self._average(later_plan(self.plan, gathering.called, gathering.group), now)

    def _conclude(self, outcome: Outcome, now: float) -> Outputs:
        """A stage is over: go on to the next one, or end; repeat it, if it lacks anything of a block's mean."""
        gathering, plan = self._gathering, self.plan
        lacking = tuple((plan.peers.index(peer), chunks) for peer, chunks in outcome.missing)
        self._payload_bytes += outcome.payload_bytes
        self._seen = self._seen.with_(outcome.seen)
        if gathering is None or gathering.called is None:
            self._left_out = outcome.left_out
            whole = sum(samples for _, samples in outcome.contributors)  # block-mates stand for what is lacking
            holding = Holding(outcome.fingerprint, whole, outcome.loss, lacking)
        elif lacking:
            return self._repeat(gathering, [member for member, _ in lacking], now)
        else:
            holding = joined(plan, gathering.called, gathering.group)
        stage = len(self._brought)
        if stage < plan.stages:
            self._brought.append((self._running[1], holding))
            gone = {plan.peers.index(peer) for peer in self.rounds.lost}
            self._gathering = Gathering(plan, self._layout.group_of(stage, self._me), self._me, holding, gone)
            return sends(plan, self._gathering.retry(now))
        total = sum(member.samples for member in plan.members)
        if total and 2 * holding.samples <= total:
            return self._fail("too few contributions are left", now)
        self._ended = True
        same, seconds = outcome_of(plan, holding), now - self._began_at
        own = replace(same, left_out=self._left_out, payload_bytes=self._payload_bytes, seen=self._seen)
        return [RoundFinished(replace(own, seconds=seconds))]

    def _repeat(self, gathering: Gathering, unfit: Sequence[int], now: float) -> Outputs:
        """A stage failed for this member: gather again; others give for those whose parts did not come."""
        self._trace.mark("averaging.stage_repeated")
        self.repeated += 1
        self.rounds.drop(self._running[0])
        return sends(self.plan, gathering.retry(now, unfit=unfit))

    def _fail(self, reason: str, now: float, suspects: tuple[PeerId, ...] = ()) -> Outputs:
        self._ended = self._failed = True
        groups = (self._layout.group_of(stage, self._me) for stage in range(self.plan.stages))
        company = {member for group in groups for member in group.members} - {self._me}
        leaving = [Send(self.plan.peers[member], Leaving(self.plan.round)) for member in sorted(company)]
        return [*self.rounds.leave(now), *leaving, RoundFailed(self.plan.round, reason, suspects)]


def sends(plan: Plan, told: Told) -> Outputs:
    """Turns words for members, named by their places in the plan, into messages to their peers."""
    return [Send(plan.peers[member], word) for member, word in told]
