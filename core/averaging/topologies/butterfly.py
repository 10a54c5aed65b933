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

import msgspec
import numpy as np
from numpy.typing import NDArray

from core.averaging.codecs import codec_of
from core.averaging.feedback import Carry
from core.averaging.messages import (
    Commit,
    Leaving,
    Mean,
    Open,
    Order,
    Part,
    RoundMessage,
    Stalled,
    Status,
    Tally,
    from_bits,
)
from core.averaging.outcome import Outcome, RoundFailed, RoundFinished
from core.averaging.plan import Plan
from core.averaging.seen import NOTHING, Remembered, Seen
from core.averaging.topologies.account import outcome_of
from core.averaging.topologies.agreement import Agreement
from core.averaging.topologies.blame import Blame
from core.averaging.topologies.exchange import Exchange
from core.averaging.topologies.giving import Giving
from core.averaging.topologies.leadership import Leadership
from core.averaging.topologies.overtime import Overtime
from core.averaging.topologies.sealing import Sealing, plan_name
from core.averaging.topologies.succession import Succession
from core.averaging.topologies.vectors import Vectors, check_vectors
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, earliest
from core.base.trace import Trace

COMMIT_BY = 0.8
"""At this part of the round's time the leader goes on without those who are not complete."""

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
        self._unheeded = sum(1 << self._index[peer] for peer in remembered.unheeded)
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
        self._succession = Succession(plan)
        self._sealing = Sealing(plan, self._name, self._me, exchange=self._exchange, secret=secret)
        self._started_at = 0.0
        self._state = _WAITING
        self._lost = 0
        self._leadership: Leadership | None = None
        self._reported: tuple[int, tuple[int, ...]] | None = None
        self._agreement = Agreement(plan, exchange=self._exchange, sealing=self._sealing, succession=self._succession)
        self._blame = Blame(plan, self._me)

    # --- owner's side ---

    def start(self, now: float) -> Outputs:
        """Begin.  Call once."""
        self._started_at = self._succession.heard_at = now
        self._state = _RUNNING
        outputs: Outputs = []
        if self.plan.leaders[0] == self._me:
            self._leadership = self._lead(now, without=0)
        outputs += self._exchange.start(now)
        return outputs + self._advance(now)

    def leave(self, now: float) -> Outputs:  # noqa: ARG002 - the shape of every call
        """End the round for me, and tell the others at once."""
        if self._state != _RUNNING:
            return []
        self._blame.nobody()
        return self._fail("this computer left the round")

    def unheard(self) -> Outcome | None:
        """I have failed: what the others have come to, if what has not reached me is only the Commit."""
        word = self._agreement.foreseen() if self._state == _FAILED else None
        return None if word is None else self._outcome(word, seconds=0.0, seen=Seen())

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
        control = self._succession.deadline if self._leadership is None else self._leadership.deadline
        return earliest(self._ends_at, control, self._exchange.deadline, self._agreement.patient_until)

    @property
    def leader(self) -> PeerId:
        """Whose orders count."""
        return self._peers[self._succession.leader]

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
            return self._hear_late(member, message, now)
        if self._leadership is not None:
            self._leadership.heard(member, now)
        if member == self._succession.awaited:
            self._succession.heard_at = now
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
            case _:
                outputs += self._govern(member, message, now)
        return outputs + self._advance(now)

    def _govern(self, member: int, message: Stalled | Order | Status | Commit | Leaving, now: float) -> Outputs:
        match message:
            case Order():
                return self._on_order(member, message, now)
            case Status():
                return self._on_status(member, message, now)
            case Commit():
                return self._on_commit(member, message, now)
            case Leaving() if self._state == _FINISHED and not self._lost >> member & 1:
                return [*self._lose(member, now), *self._tell_commit(member)]
            case Leaving():
                return self._lose(member, now)
            case Stalled():
                if self._leadership is not None:
                    self._leadership.complain(member, message.share, message.version)
        return []

    def _on_order(self, member: int, order: Order, now: float) -> Outputs:
        if not self._succession.accepts(member, order):
            self._trace.mark("averaging.drop.order")
            return []
        if self._state == _FINISHED and self._agreement.commit is not None:
            return [Send(self._peers[member], word) for word in (self._status(order.rank), self._agreement.commit)]
        if not self._exchange.live >> member & 1:  # it was excluded, and does not know yet
            return [Send(self._peers[member], Leaving(self.plan.round))]
        if self._usurped(order.rank, now):
            self._trace.mark("averaging.drop.usurper")
            return []
        self._succession.follow(order, now)
        self._leadership = None
        live = from_bits(order.live)
        if not live >> self._me & 1:
            return self._fail("the others went on without this computer")
        outputs: Outputs = []
        if order.settled:
            outputs += self._exchange.assign(order.versions, order.reducers, live, now=now)
            outputs += self._complain(self._exchange.orphans(self._lost | ~live))
            if from_bits(order.urged) >> self._me & 1:
                outputs += self._complain(self._exchange.patience.urged(now))
            if order.salts and order.versions == self._exchange.versions:
                self._sealing.make(order.salts, by=member)
        status = self._status(order.rank)
        self._reported = (order.rank, status.versions) if status.complete else None
        return [*outputs, Send(self._peers[member], status)]

    def _usurped(self, rank: int, now: float) -> bool:
        """Whether a leader of this rank takes the place of one that is there; maybe mine."""
        if self._leadership is not None:
            return not self._leadership.overslept(now)
        return self._succession.usurps(rank, self._lost, now)

    def _on_status(self, member: int, status: Status, now: float) -> Outputs:
        if self._leadership is not None:
            self._leadership.note(member, status, now)
        elif self._state == _FINISHED and not status.committed:
            return self._tell_commit(member)
        return []

    def _tell_commit(self, member: int) -> Outputs:
        commit = self._agreement.commit
        return [] if commit is None else [Send(self._peers[member], commit)]

    def _on_commit(self, member: int, commit: Commit, now: float) -> Outputs:
        leads = self._leadership is not None
        heeded = self._agreement.heeds(member, commit, leads=leads, lost=self._lost, now=now)
        if self._state != _RUNNING or not heeded:
            self._trace.mark("averaging.drop.commit")
            return []
        if leads:  # my predecessor's, in whose name nobody listens to me
            commit = msgspec.structs.replace(commit, rank=self._succession.rank)
        self._agreement.take(commit, now, member=member)
        return self._to_others(commit) if leads else []

    def _hear_late(self, member: int, word: RoundMessage, now: float) -> Outputs:
        """I have given up: what I hold may have been committed all the same."""
        agreement = self._agreement
        if isinstance(word, Commit) and agreement.heeds(member, word, leads=False, lost=self._lost, now=now):
            agreement.take(word, now, member=member)
            if agreement.fulfilled:
                self.settle()
        return []

    def _astray(self, member: int, now: float) -> Outputs:
        """`member` goes by another plan: we have nothing to do with each other."""
        self._trace.mark("averaging.drop.plan")
        if self._blame.goes_by_another_plan(member):
            return []
        return self._lose(member, now)

    # --- time and loss ---

    def _tick(self, now: float) -> Outputs:
        outputs: Outputs = []
        if now >= self._ends_at:
            self._blame.at_the_end(self._exchange, self._leadership, leader=self._succession.leader)
            return self._fail("the round's time is over")
        sends, stalled = self._exchange.tick(now)
        outputs += sends
        outputs += self._complain(stalled)
        if self._leadership is not None:
            self._leadership.exclude(self._leadership.silent(now, me=self._me))
            self._leadership.urge(now)
            self._leadership.exclude(self._leadership.blocking(now))
            if now >= self._started_at + COMMIT_BY * self.plan.round_timeout_s and self._exchange.complete:
                self._leadership.exclude(self._leadership.incomplete())
        elif now >= self._succession.deadline:
            outputs += self._succeed(now)
        return outputs + self._advance(now)

    def _lose(self, member: int, now: float) -> Outputs:
        self._lost |= 1 << member
        commit = self._agreement.commit
        if self._state == _FINISHED and commit is not None and self._succession.leader == member:
            return self._to_others(commit)
        if self._state != _RUNNING:
            return []
        self._trace.mark("averaging.member_lost")
        outputs: Outputs = []
        outputs += self._exchange.drop(member, now)
        if self._leadership is not None:
            self._leadership.exclude([member])
        elif self._succession.awaited == member:
            outputs += self._succeed(now)
        if self._state == _RUNNING:
            outputs += self._complain(self._exchange.orphans(self._lost))
        return outputs + self._advance(now)

    def _succeed(self, now: float) -> Outputs:
        """Give up the leader; lead myself if I am the next whom I can reach, else wait for that one's order."""
        self._trace.mark("averaging.leader_lost")
        silent = self._succession.leader
        self._blame.bits |= 1 << self._succession.awaited
        if not self._succession.give_up(self._lost, now):
            return self._fail("nobody is left to lead the round")
        successor = self._succession.awaited
        if successor != self._me:  # it may have finished already, and then answers with the Commit
            return [Send(self._peers[successor], self._status(self._succession.rank))]
        self._succession.lead(now)
        self._leadership = self._lead(now, without=1 << silent)
        return []

    def _lead(self, now: float, *, without: int) -> Leadership:
        return Leadership(
            plan=self.plan,
            rank=self._succession.rank,
            live=(1 << len(self._peers)) - 1 & ~(self._lost | without),
            versions=list(self._exchange.versions),
            reducers=list(self._exchange.reducers),
            settled=self._succession.rank == 0,
            now=now,
            trace=self._trace,
            overtime=Overtime(
                self.plan,
                planned_s=0.0 if self._succession.rank else self._exchange.patience.planned_s,
                began_at=self._started_at,
                hurried=self._hurried,
            ),
            unheeded=self._unheeded,
        )

    def _complain(self, shares: Sequence[tuple[int, int]]) -> Outputs:
        outputs: Outputs = []
        for share, version in shares:
            self._trace.mark("averaging.reducer_stalled")
            if self._leadership is not None:
                self._leadership.complain(self._me, share, version)
            elif not self._lost >> self._succession.leader & 1:
                leader = self._peers[self._succession.leader]
                outputs.append(Send(leader, Stalled(self.plan.round, share, version)))
        return outputs

    # --- what follows from the state ---

    def _advance(self, now: float) -> Outputs:
        if self._state != _RUNNING:
            return []
        outputs = self._report() if self._leadership is None else self._direct(self._leadership, now)
        until = self._agreement.patient_until
        if self._state != _RUNNING or until is None:
            return outputs
        if self._agreement.fulfilled:
            outputs.append(self._finish(now))
        elif self._agreement.contradicted:
            self._blame.bits |= 1 << self._succession.leader
            outputs += self._fail("the leader has committed another mean than this computer holds")
        elif now >= until:
            outputs += self._fail("the others finished the round without this computer")
        return outputs

    def _report(self) -> Outputs:
        """Tell the leader, once for each state, that the result is complete."""
        state = (self._succession.rank, self._exchange.versions)
        leader = self._succession.leader
        if not self._exchange.complete or self._reported == state or self._lost >> leader & 1:
            return []
        self._reported = state
        return [Send(self._peers[leader], self._status(self._succession.rank))]

    def _direct(self, leadership: Leadership, now: float) -> Outputs:
        """Lead: act on what has been learned, and tell the others."""
        outputs: Outputs = []
        self._agreement.testify(leadership, now)
        if leadership.hopeless:
            return self._fail("too few members are left")
        while leadership.changed(now):
            if leadership.settled:
                outputs += self._exchange.assign(leadership.versions, leadership.reducers, leadership.live, now=now)
                outputs += self._complain(self._exchange.orphans(self._lost | ~leadership.live))
            if leadership.urges_me:
                outputs += self._complain(self._exchange.patience.urged(now))
            self._agreement.testify(leadership, now)
        commits = leadership.may_commit and self._agreement.commit is None
        if commits and now >= leadership.order_at and leadership.live.bit_count() < len(self._peers):
            outputs += self._to_others(leadership.order(now))  # whoever is excluded is to know that first
        if commits:
            commit = leadership.commit()
            self._agreement.take(commit, now, member=self._me)
            outputs += self._to_others(commit)
        if now >= leadership.order_at:
            outputs += self._to_others(leadership.order(now))
        return outputs

    def _status(self, rank: int) -> Status:
        return self._agreement.status(rank, finished=self._state == _FINISHED)

    def _to_others(self, message: RoundMessage) -> Outputs:
        reachable = [m for m in range(len(self._peers)) if m != self._me and not self._lost >> m & 1]
        return [Send(self._peers[member], message) for member in reachable]

    # --- ends ---

    @property
    def _ends_at(self) -> float:
        return self._started_at + self.plan.round_timeout_s

    def _fail(self, reason: str) -> Outputs:
        self._state = _FAILED
        suspects = self._blame.suspects(self._exchange, self._leadership, lost=self._lost)
        self._leadership = None
        return [*self._to_others(Leaving(self.plan.round)), RoundFailed(self.plan.round, reason, suspects)]

    def _finish(self, now: float) -> RoundFinished:
        assert self._agreement.commit is not None
        self._state = _FINISHED
        seen = self._blame.seen(self._exchange, self._leadership)
        self._leadership = None
        self._exchange.settle()
        return RoundFinished(self._outcome(self._agreement.commit, seconds=now - self._started_at, seen=seen))

    def _outcome(self, commit: Commit, *, seconds: float, seen: Seen) -> Outcome:
        return outcome_of(
            self.plan,
            self._giving,
            self._exchange,
            me=self._me,
            bits=self._sealing.bits(commit),
            seconds=seconds,
            seen=seen,
        )
