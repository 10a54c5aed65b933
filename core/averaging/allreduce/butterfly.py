"""Butterfly all-reduce with a leader that can be succeeded (Diskin et al. 2021, section 3.2).

The vector is cut into chunks; each member reduces a contiguous share of them: it collects everybody's parts, makes the
weighted mean and hands it back.  While nobody fails, the leader only listens until all are complete, and commits.

What fails, and what follows:

- a sender: its share of the mean ends there; the means say whose parts they hold, so everybody knows what is missing;
- a reducer: who lacks its means complains to the leader, which points to a member that holds them, or gives the share
  to another member as a new version, and all parts of that share are sent again;
- the leader: the next in the plan's order takes over, asks everybody's Status, and goes on; what the old leader has
  committed, or may have, stays as it is;
- too many (see `quorum`): the rest leaves the round; contributions are untouched and another round may begin;
- the time: without a Commit by the round's deadline the member fails.

Equal versions are equal means bit for bit if their one reducer is honest; that it was, the members tell each other
(`sealing`).  A leader commits only when everybody who is still in and needs the means holds the same versions and bits.
So all who finish hold the same mean, whoever dies, whatever link breaks, and whoever lies.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.averaging.allreduce.account import outcome_of
from core.averaging.allreduce.exchange import Exchange
from core.averaging.allreduce.giving import Giving
from core.averaging.allreduce.vectors import Vectors, check_vectors
from core.averaging.codecs import codec_of
from core.averaging.commit.sealing import Sealing, plan_name
from core.averaging.commit.steering import Steering
from core.averaging.feedback import Carry
from core.averaging.messages import (
    Commit,
    Leaving,
    Mean,
    Open,
    Part,
    RoundMessage,
    Tally,
)
from core.averaging.outcome import Outcome, RoundFailed, RoundFinished
from core.averaging.penalties.observed import NOTHING, Observations, Remembered
from core.averaging.plan import Plan
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, earliest
from core.base.trace import Trace

_WAITING, _RUNNING, _FINISHED, _FAILED = range(4)

Outputs = list[Send[RoundMessage] | RoundFinished | RoundFailed]


class Butterfly:
    """One member's side of one round.

    After its end it still answers: keep it until the next round begins.

    Args:
        me: This member.
        plan: A plan that has been checked (`check_plan`).
        contribution: Shape (numel,), float32; not written, and not to be changed before the end.  None: the plan has me
            without samples.
        result: Shape (numel,), float32; written all along, the group's mean once `RoundFinished` is out.  None: the
            plan has me as one that needs no mean; then memory is taken for what I reduce only.
        trace: Where misuse and incidents are marked.
        layout: Sizes of the tensors in the vector, in order; codecs that treat them differently need it.
        carry: Carries what the codec loses from round to round.
        secret: Bytes that nobody can guess: others may not foresee under which key means are compared.
        remembered: With whom I have less patience.

    Raises:
        ValueError: a vector that is missing or of the wrong shape or type, or a plan without me.
    """

    def __init__(  # noqa: PLR0913 - a round and all that it works on
        self,
        me: PeerId,
        plan: Plan,
        *,
        contribution: NDArray[np.float32] | None,
        result: NDArray[np.float32] | None,
        trace: Trace,
        layout: Sequence[int] = (),
        carry: Carry | None = None,
        secret: bytes = b"",
        remembered: Remembered = NOTHING,
    ) -> None:
        check_vectors(plan, me, contribution=contribution, result=result)
        self.plan = plan
        self._peers = plan.peers
        self._index = {peer: index for index, peer in enumerate(plan.peers)}
        self._me = self._index[me]
        self._trace = trace
        self._giving = Giving(plan)
        codec = codec_of(plan.codec, layout)
        vectors = Vectors(plan, contribution=contribution, result=result, codec=codec, carry=carry)
        self._name = plan_name(plan)
        self._hurried = sum(1 << self._index[peer] for peer in remembered.hurried)
        self._exchange = Exchange(
            plan,
            self._me,
            name=self._name,
            giving=self._giving,
            vectors=vectors,
            trace=trace,
            hurried=self._hurried,
            usual=remembered.usual,
        )
        self._sealing = Sealing(plan, self._name, self._me, exchange=self._exchange, secret=secret)
        self._steering = Steering(
            plan,
            self._me,
            exchange=self._exchange,
            sealing=self._sealing,
            trace=trace,
            hurried=self._hurried,
            unheeded=sum(1 << self._index[peer] for peer in remembered.unheeded),
        )
        self._started_at = 0.0
        self._state = _WAITING

    # --- owner's side ---

    def start(self, now: float) -> Outputs:
        """Begin.  Call once."""
        self._started_at = now
        self._state = _RUNNING
        self._steering.begin(now)
        outputs: Outputs = [*self._exchange.start(now)]
        return outputs + self._advance(now)

    def leave(self, now: float) -> Outputs:  # noqa: ARG002 - the shape of every call
        """End the round for me, and tell the others at once."""
        if self._state != _RUNNING:
            return []
        self._steering.blame.nobody()
        return self._fail("this computer left the round")

    def unheard(self) -> Outcome | None:
        """I have failed: what the others have come to, if what has not reached me is only the Commit."""
        word = self._steering.agreement.foreseen() if self._state == _FAILED else None
        return None if word is None else self._outcome(word, seconds=0.0, seen=Observations())

    def settle(self) -> None:
        """It was: what the codec has lost is carried on, as by all who have finished."""
        self._exchange.settle()

    def concerns(self, round_id: bytes) -> bool:
        """Whether words of the round with this id are for it."""
        return round_id == self.plan.round

    @property
    def deadline(self) -> float | None:
        """When to be woken with a Tick, unix seconds."""
        if self._state != _RUNNING:
            return None
        return earliest(self._ends_at, self._steering.deadline, self._exchange.deadline)

    @property
    def leader(self) -> PeerId:
        """Whose orders count."""
        return self._peers[self._steering.succession.leader]

    @property
    def open_chunks(self) -> int:
        """Chunks that wait for parts here; bounded by the window."""
        return self._exchange.open_chunks

    @property
    def held_bytes(self) -> int:
        """Payloads that are kept here, besides the vectors."""
        return self._exchange.held_bytes

    def contributors(self, chunk: int) -> int:
        """Whose parts are in the mean of chunk number `chunk` of the whole vector (bits); 0 while it is missing."""
        return self._exchange.contributors(chunk)

    def handle(self, event: Received[RoundMessage] | Tick | Lost, now: float) -> Outputs:
        """Advance by one event."""
        if self._state == _WAITING:
            self._trace.mark("averaging.drop.early")
            return []
        match event:
            case Received(sender=sender, message=message):
                return self._receive(sender, message, now)
            case Tick():
                return self._tick(now) if self._state == _RUNNING else []
            case Lost(peer=peer):
                member = self._index.get(peer)
                return [] if member is None else self._lose(member, now)

    # --- messages ---

    def _receive(self, sender: PeerId, message: RoundMessage, now: float) -> Outputs:
        member = self._index.get(sender)
        if message.round != self.plan.round or member is None or member == self._me:
            self._trace.mark("averaging.drop.foreign")
            return []
        if self._state == _FAILED:
            self._steering.hear_late(member, message, now)
            return []
        self._steering.heard(member, now)
        outputs: Outputs = []
        match message:
            case Part():
                outputs += self._exchange.on_part(member, message, now)
            case Mean():
                outputs += self._exchange.on_mean(member, message, now)
            case Open(plan=name) if name != self._name:
                return self._astray(member, now)
            case Open():
                outputs += self._exchange.on_open(member, message, now)
            case Tally():
                self._exchange.on_tally(member, message, now)
            case Leaving() if self._state == _FINISHED and not self._steering.lost >> member & 1:
                outputs += [*self._lose(member, now), *self._steering.tell_commit(member)]
            case Leaving():
                outputs += self._lose(member, now)
            case _:
                outputs += self._steering.govern(member, message, now)
        return outputs + self._advance(now)

    def _astray(self, member: int, now: float) -> Outputs:
        """`member` goes by another plan: we have nothing to do with each other."""
        self._trace.mark("averaging.drop.plan")
        if self._steering.blame.goes_by_another_plan(member):
            return []
        return self._lose(member, now)

    # --- time and loss ---

    def _tick(self, now: float) -> Outputs:
        steering = self._steering
        if now >= self._ends_at:
            steering.blame.at_the_end(self._exchange, steering.leadership, leader=steering.succession.leader)
            return self._fail("the round's time is over")
        sends, stalled = self._exchange.tick(now)
        outputs: Outputs = [*sends, *steering.complain(stalled), *steering.tick(now)]
        return outputs + self._advance(now)

    def _lose(self, member: int, now: float) -> Outputs:
        steering = self._steering
        steering.lost |= 1 << member
        commit = steering.agreement.commit
        if self._state == _FINISHED and commit is not None and steering.succession.leader == member:
            return [*steering.to_others(commit)]
        if self._state != _RUNNING:
            return []
        self._trace.mark("averaging.member_lost")
        outputs: Outputs = [*self._exchange.drop(member, now), *steering.lose(member, now)]
        return outputs + self._advance(now)

    # --- what follows from the state ---

    def _advance(self, now: float) -> Outputs:
        if self._state != _RUNNING:
            return []
        steering = self._steering
        outputs: Outputs = [] if steering.over is not None else [*steering.advance(now)]
        if steering.over is not None:
            return outputs + self._fail(steering.over)
        agreement = steering.agreement
        if agreement.patient_until is None:
            return outputs
        if agreement.fulfilled:
            outputs.append(self._finish(now))
        elif agreement.contradicted:
            steering.blame.bits |= 1 << steering.succession.leader
            outputs += self._fail("the leader has committed another mean than this computer holds")
        elif now >= agreement.patient_until:
            outputs += self._fail("the others finished the round without this computer")
        return outputs

    # --- ends ---

    @property
    def _ends_at(self) -> float:
        return self._started_at + self.plan.round_timeout_s

    def _fail(self, reason: str) -> Outputs:
        self._state = _FAILED
        steering = self._steering
        suspects = steering.blame.suspects(self._exchange, steering.leadership, lost=steering.lost)
        steering.leadership = None
        return [*steering.to_others(Leaving(self.plan.round)), RoundFailed(self.plan.round, reason, suspects)]

    def _finish(self, now: float) -> RoundFinished:
        steering = self._steering
        assert steering.agreement.commit is not None
        self._state = _FINISHED
        seen = steering.blame.seen(self._exchange, steering.leadership)
        steering.leadership, steering.finished = None, True
        self._exchange.settle()
        return RoundFinished(self._outcome(steering.agreement.commit, seconds=now - self._started_at, seen=seen))

    def _outcome(self, commit: Commit, *, seconds: float, seen: Observations) -> Outcome:
        return outcome_of(
            self.plan,
            self._giving,
            self._exchange,
            me=self._me,
            bits=self._sealing.bits(commit),
            seconds=seconds,
            seen=seen,
        )
