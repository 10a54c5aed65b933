"""Averaging in groups on a grid, each stage a butterfly of its own (Moshpit all-reduce; S000 3.2, appendix C).

The first stage averages contributions within the smallest blocks.  A member that is lost there is missing in its
block's mean as it is in any butterfly, for all of the block alike; a block in which too many are lost goes home.

Each further stage joins the means of several blocks.  Its group comes together first (`Convening`), then averages; the
peers of one block hold the same bits, and groups of one stage that join the same blocks get the same bits and the same
fingerprint.  That is kept: a stage that lacks any part of a block's mean is not accepted but repeated by its group, and
by it alone, with another peer of the block in the place of the one that failed.  Who cannot come to the same mean in
time goes home without one.  So members never hold different means under one name, and a failure costs one group a
stage.

What can still differ: a block all of whose peers are out of reach for one group and not for another.  The names differ
then, and the swarm moves to the greater one (`core.swarm.states`).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from core.averaging.allreduce.vectors import RoundInput
from core.averaging.butterfly import Butterfly
from core.averaging.grid.member import FAILED, FINISHED, RUNNING, WAITING, GridMember, Vector, Words
from core.averaging.grid.messages import (
    ATTEMPTS_MAX,
    GRID_MESSAGES,
    Arrived,
    Doubted,
    GridMessage,
    Holding,
    Passed,
    StagePlan,
    StandIn,
    Underway,
)
from core.averaging.grid.plans import first_plan, joined, later_plan, outcome_of
from core.averaging.messages import Leaving, RoundMessage
from core.averaging.outcome import Outcome, RoundFailed, RoundFinished
from core.averaging.penalties.observed import NOTHING, Observations, Remembered
from core.averaging.plan import Plan
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, earliest
from core.base.problems import RemoteProblem
from core.base.trace import Trace
from core.base.wire import Message

STAND_INS_MAX: Final = 2
"""Groups for which one peer stands in at a time; each takes room for another vector."""

Outputs = list[Send[Message] | RoundFinished | RoundFailed]


class Grid:
    """One member's side of a round on a grid; see the module's docstring, and `Topology` for the arguments.

    It takes room for one more vector than a butterfly for each stage but the last: what a peer brought to a stage it
    keeps, so that it can stand in for another of its block.

    Raises:
        ValueError: a vector of the wrong shape or type, or a plan without me or of one stage.
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
            raise ValueError("a grid is for peers that have vectors, and for codecs that need no feedback")
        if me not in plan.peers or plan.stages < 2:
            raise ValueError("the plan is one without me, or no grid")
        for vector in (contribution, result):
            if vector.shape != (plan.numel,) or vector.dtype != np.float32:
                raise ValueError(f"a vector of shape {vector.shape} and type {vector.dtype} for {plan.numel} float32")
        self.plan = plan
        self._me = me
        self._peers = plan.peers
        self._index = {peer: index for index, peer in enumerate(plan.peers)}
        self._trace = trace
        self._work = work
        self._secret = secret
        self._remembered = remembered
        self._seen = Observations()
        self._result = self._mean = result
        self._standing = GridMember(plan, self._index[me], contribution)
        self._started_at = 0.0
        self._rounds: dict[bytes, Butterfly] = {}
        self._mine = b""
        self._visits: list[bytes] = []
        self._visited: list[bytes] = []
        self._left = 0
        self._payload_bytes = 0
        self._left_out: tuple[tuple[int, int], ...] = ()
        self.repeated = 0
        """How often I had to repeat a stage."""

    # --- owner's side ---

    def start(self, now: float) -> Outputs:
        """Begin.  Call once."""
        self._started_at = now
        self._standing.state = RUNNING
        plan = first_plan(self.plan, self._standing.group, self._standing.number)
        return self._settle(self._average(plan, now), now)

    def leave(self, now: float) -> Outputs:
        """End the round for me, and tell the others at once."""
        return self._fail("this computer left the round", now) if self._standing.state == RUNNING else []

    def concerns(self, round_id: bytes) -> bool:
        """Whether words of the round with this id are for it."""
        return round_id == self.plan.round or round_id in self._rounds

    @property
    def deadline(self) -> float | None:
        """When to be woken with a Tick, unix seconds."""
        rounds = earliest(*(butterfly.deadline for butterfly in self._rounds.values()))
        if self._standing.state != RUNNING:
            return rounds
        waiting = self._standing.waiting
        return earliest(self._ends_at, None if waiting is None else waiting.deadline, rounds)

    @property
    def leader(self) -> PeerId:
        """The first of the plan's leaders whom nothing is known against."""
        here = [member for member in self.plan.leaders if not self._standing.gone >> member & 1]
        return self._peers[here[0]]

    @property
    def open_chunks(self) -> int:
        """Accumulators in use; bounded by the windows."""
        return sum(butterfly.open_chunks for butterfly in self._rounds.values())

    def handle(self, event: Received[RoundMessage | GridMessage] | Tick | Lost, now: float) -> Outputs:
        """Advance by one event."""
        if self._standing.state == WAITING:
            self._trace.mark("averaging.drop.early")
            return []
        match event:
            case Received(sender=sender, message=message):
                return self._settle(self._receive(sender, message, now), now)
            case Lost(peer=peer) if peer == self._me or peer not in self._index:
                return []
            case Lost(peer=peer):
                self._standing.gone |= 1 << self._index[peer]
                return self._settle(self._each(event, now), now)
            case Tick():
                return self._settle(self._tick(event, now), now)

    # --- messages ---

    def _receive(self, sender: PeerId, message: RoundMessage | GridMessage, now: float) -> Outputs:
        member = self._index.get(sender)
        if member is None or sender == self._me:
            self._trace.mark("averaging.drop.foreign")
            return []
        self._standing.gone &= ~(1 << member) | self._left
        butterfly = self._rounds.get(message.round)
        try:
            if message.round == self.plan.round:
                return self._hear(member, message, now)
            if butterfly is not None and not isinstance(message, GRID_MESSAGES):
                return self._take(butterfly, butterfly.handle(Received(sender, message), now), now)
        except RemoteProblem:
            self._trace.mark("averaging.drop.stage")
        else:
            self._trace.mark("averaging.drop.foreign")
        return []

    def _hear(self, member: int, word: RoundMessage | GridMessage, now: float) -> Outputs:
        match word:
            case Leaving():
                self._left |= 1 << member
                self._standing.gone |= self._left
                return self._each(Lost(self._peers[member], "left"), now)
            case Arrived():
                return self._address(self._standing.on_arrived(member, word, now))
            case Underway() | Passed():
                self._standing.on_answer(member, word, now)
            case Doubted():
                self._standing.on_doubted(member, word)
            case StandIn():
                free = len(self._visits) < STAND_INS_MAX
                return self._address(self._standing.on_stand_in(member, word, free=free))
            case StagePlan():
                called = self._standing.on_stage_plan(member, word, now)
                if called is not None and called[0].round not in self._rounds:
                    plan, own = called
                    return self._average(plan, now) if own else self._visit(plan, word.stage, now)
            case _:
                raise RemoteProblem("a word that means nothing here")
        return []

    # --- stages ---

    def _average(self, plan: Plan, now: float) -> Outputs:
        """My group has come together."""
        self._mine = plan.round
        self._mean = self._result if self._standing.last else np.empty_like(self._result)
        return self._run(plan, self._standing.inputs[-1], self._mean, now)

    def _visit(self, plan: Plan, stage: int, now: float) -> Outputs:
        """Stand in for a peer of another group; the mean that comes of it is not needed."""
        if len(self._visits) >= STAND_INS_MAX:
            self._trace.mark("grid.drop.visit")
            return []
        for old in self._visited[:-1]:
            self._rounds.pop(old, None)
        self._visited = self._visited[-1:]
        self._visits.append(plan.round)
        return self._run(plan, self._standing.inputs[stage], np.empty_like(self._result), now)

    def _run(self, plan: Plan, contribution: Vector, result: Vector, now: float) -> Outputs:
        butterfly = Butterfly(
            self._me,
            plan,
            replace(self._work, contribution=contribution, result=result),
            trace=self._trace,
            secret=self._secret,
            remembered=self._remembered.among(plan.peers),
        )
        self._rounds[plan.round] = butterfly
        outputs = self._take(butterfly, butterfly.start(now), now)
        for peer in plan.peers:
            if self._standing.gone >> self._index[peer] & 1:
                outputs += self._take(butterfly, butterfly.handle(Lost(peer, "lost before"), now), now)
        return outputs

    def _take(self, butterfly: Butterfly, outputs: Outputs, now: float) -> Outputs:
        """Pass on what a butterfly sends; its end is the end of a stage, or of a visit."""
        followed: Outputs = []
        round_id = butterfly.plan.round
        for output in outputs:
            match output:
                case Send():
                    followed.append(output)
                case RoundFinished() | RoundFailed() if round_id in self._visits:
                    self._visits.remove(round_id)
                    self._visited.append(round_id)
                case RoundFinished(outcome=outcome) if round_id == self._mine:
                    self._payload_bytes += outcome.payload_bytes
                    self._seen = self._seen.with_(outcome.seen)
                    followed += self._ended(outcome, now)
                case RoundFailed() if round_id == self._mine and self._standing.state == RUNNING:
                    first = self._standing.convening is None
                    failed = self._fail(output.reason, now, suspects=output.suspects) if first else None
                    followed += self._repeat(now, unfit=()) if failed is None else failed
                case _:
                    pass
        return followed

    def _ended(self, outcome: Outcome, now: float) -> Outputs:
        convening = self._standing.convening
        lacking = tuple((self._index[peer], chunks) for peer, chunks in outcome.missing)
        if convening is None or convening.called is None:
            absent = {member for member, _ in lacking}
            self._left_out = outcome.left_out
            whole = sum(samples for _, samples in outcome.contributors)  # block-mates stand for what is lacking
            holding = Holding(outcome.fingerprint, whole, outcome.loss, lacking)
        elif lacking:
            return self._repeat(now, unfit=[member for member, _ in lacking])
        else:
            absent = set(convening.group.members) - {entry.member for entry in convening.called.entries}
            holding = joined(self.plan, convening.called, convening.group)
        if self._standing.last:
            return self._finish(holding, now)
        return self._address(self._standing.rise(holding, self._mean, absent=absent, now=now))

    def _repeat(self, now: float, *, unfit: Sequence[int]) -> Outputs:
        """The stage came to nothing for me: gather again, and let others give for those whose parts did not come."""
        self._trace.mark("averaging.stage_repeated")
        self.repeated += 1
        self._rounds.pop(self._mine, None)
        convening = self._standing.convening
        assert convening is not None
        if convening.attempt + 1 >= ATTEMPTS_MAX:
            return self._fail("a stage failed again and again", now)
        convening.unfit.update(unfit)
        return self._address(convening.begin(convening.attempt + 1, now))

    def _settle(self, outputs: Outputs, now: float) -> Outputs:
        """Whenever it is up to me to say who takes part in my group's stage, say it."""
        while (waiting := self._standing.waiting) is not None:
            words, called = self._standing.settle(waiting, now)
            outputs += self._address(words)
            if called is None:
                break
            waiting.called = called
            outputs += self._average(later_plan(self.plan, called, waiting.group), now)
        return outputs

    # --- time and loss ---

    @property
    def _ends_at(self) -> float:
        return self._started_at + self.plan.stages * self.plan.round_timeout_s

    def _tick(self, event: Tick, now: float) -> Outputs:
        if self._standing.state == RUNNING and now >= self._ends_at:
            return self._fail("the round's time is over", now)
        waiting = self._standing.waiting
        outputs = [] if waiting is None else self._address(waiting.tick(self._standing.gone, now))
        return outputs + self._each(event, now)

    def _each(self, event: Tick | Lost, now: float) -> Outputs:
        outputs: Outputs = []
        for butterfly in list(self._rounds.values()):
            if isinstance(event, Lost) or (butterfly.deadline is not None and butterfly.deadline <= now):
                outputs += self._take(butterfly, butterfly.handle(event, now), now)
        return outputs

    def _address(self, words: Words) -> Outputs:
        return [Send(self._peers[member], word) for member, word in words]

    # --- ends ---

    def _finish(self, holding: Holding, now: float) -> Outputs:
        total = sum(member.samples for member in self.plan.members)
        if total and 2 * holding.samples <= total:
            return self._fail("too few contributions are left", now)
        self._standing.state = FINISHED
        outcome = outcome_of(
            self.plan,
            holding,
            left_out=self._left_out,
            seconds=now - self._started_at,
            payload_bytes=self._payload_bytes,
            seen=self._seen,
        )
        return [RoundFinished(outcome)]

    def _fail(self, reason: str, now: float, *, suspects: tuple[PeerId, ...] = ()) -> Outputs:
        self._standing.state = FAILED
        outputs: Outputs = []
        for butterfly in self._rounds.values():
            outputs += [output for output in butterfly.leave(now) if isinstance(output, Send)]
        self._rounds = {}
        outputs += self._address([(member, Leaving(self.plan.round)) for member in self._standing.company])
        return [*outputs, RoundFailed(self.plan.round, reason, suspects)]
