"""A peer's rounds, one after the other: finding the group, averaging, and what came of it."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.averaging.aggregators import aggregator_of
from core.averaging.allreduce.vectors import RoundInput
from core.averaging.bandwidth.book import LineBook
from core.averaging.codecs.registry import FEEDBACK, codec_of
from core.averaging.commit.messages import ROUND_MESSAGES, Leaving
from core.averaging.feedback import Carry, MemoryStore, ResidualStore
from core.averaging.grid.layout import FailureRate
from core.averaging.grid.plans import GRID_MESSAGES
from core.averaging.matchmaking import ContributionWanted, GroupFailed, GroupFormed, MemberRefused, PlanRefused
from core.averaging.matchmaking.attempts import RoundConfig
from core.averaging.matchmaking.matchmaker import Matchmaker
from core.averaging.matchmaking.messages import GROUP_MESSAGES, Call, Declined, Wanted
from core.averaging.outcome import Outcome, RoundFailed, RoundFinished
from core.averaging.penalties.ledger import Reputation
from core.averaging.plan import Member, Plan
from core.averaging.receipts.exchange import Attesting, Receipted
from core.averaging.receipts.receipt import RECEIPT_MESSAGES, Attested, Bundle, statement_of
from core.averaging.topologies import TOPOLOGIES, Topology
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, earliest
from core.base.signing import Signer, Verifier
from core.base.trace import Trace
from core.swarm.in_doubt import InDoubtRound, state_after
from core.swarm.orders import RoundRecord
from core.swarm.round_events import Asked, Committed, Formed, Missed
from core.swarm.settings import ParticipantSettings
from core.swarm.states import StateName

SECRET_BYTES: Final = 32
_IN_ROUND: Final = (*ROUND_MESSAGES, *GRID_MESSAGES)
EARLY_MAX = 256
"""Messages of a round that are kept until its plan is here.  Bulk is none of them: nobody sends it before our Open."""


class Rounds:
    """Matchmaking, the round that follows from it, and its receipt, as one machine.

    Args:
        settings: The collaboration's numbers; a group must bring together its target, or it is not worth a step.
        signer: This peer's key.
        verifier: Checks others' signatures.
        random: Draws ids and secrets.
        trace: Counts what others do wrong.
        carried: Asked once a round for the bytes that each relay has carried for this peer since it was asked last.
    """

    MESSAGES: Final = (*GROUP_MESSAGES, *ROUND_MESSAGES, *GRID_MESSAGES, *RECEIPT_MESSAGES)

    def __init__(
        self,
        settings: ParticipantSettings,
        *,
        signer: Signer,
        verifier: Verifier,
        random: Random,
        trace: Trace,
        carried: Callable[[], Mapping[PeerId, int]] | None = None,
    ) -> None:
        self._me = signer.peer_id
        self._run = settings.run
        self._averaging = settings.averaging
        self._aggregator = aggregator_of(settings.averaging)
        self._minimum = settings.target_samples
        self._random = random
        self._secret = random.randbytes(SECRET_BYTES)
        self._trace = trace
        self._vectors: tuple[NDArray[np.float32] | None, NDArray[np.float32] | None] = (None, None)
        self._layout: tuple[int, ...] = ()
        self._residuals: ResidualStore = MemoryStore()
        self._matchmaker: Matchmaker | None = None
        self._round: Topology | None = None
        self._standing: tuple[int, float] | None = None
        self._early: list[Received[Any]] = []
        self._unheard = InDoubtRound()
        self.attesting = Attesting(signer=signer, verifier=verifier, trace=trace)
        """Its `Receipted` goes on to the owner."""
        if carried is not None:
            self.attesting.carried = carried
        self.reduces = True
        """Whether this peer wants a share to reduce; one that others reach through relays only does not."""
        self._helps = False
        self.samples_per_s = 0.0
        """What this peer computes; 0: unknown."""
        self.lines = LineBook(self._me)
        """What is known of everybody's lines."""
        self.failures = FailureRate()
        """How often peers have failed in rounds of ours."""
        self.reputation = Reputation(self._me, round_timeout_s=settings.averaging.round_timeout_s)
        """Whom rounds of ours that failed are put down to, and who costs those that hold time."""
        self.current: bytes | None = None
        """The round for which a contribution was asked."""

    def vectors(
        self,
        contribution: NDArray[np.float32],
        mean: NDArray[np.float32],
        *,
        layout: Sequence[int] = (),
        residuals: ResidualStore | None = None,
    ) -> None:
        """The trainer's vectors from now on, shape (parameters,).  A round that runs keeps the ones it has.

        Args:
            contribution: What it contributes is written there.
            mean: Where the mean is to be.
            layout: Sizes of the tensors in both, in order.
            residuals: Where the errors of a coarse codec are kept; as before, at first in memory, when there is none.
        """
        self._begin_as(contribution, mean)
        self._layout = tuple(layout)
        self._residuals = residuals or self._residuals
        self._matchmaker = self._new_matchmaker(numel=len(contribution))

    def help(self, numel_max: int) -> None:
        """Without a trainer: answer calls with no samples, and reduce for the others vectors up to this length."""
        self._begin_as(None, None)
        self._matchmaker = self._new_matchmaker(numel=None, numel_max=numel_max)

    def _begin_as(self, contribution: NDArray[np.float32] | None, mean: NDArray[np.float32] | None) -> None:
        self._vectors = (contribution, mean)
        self._helps = contribution is None
        self.current = self._standing = None

    def _new_matchmaker(self, *, numel: int | None, numel_max: int = 0) -> Matchmaker:
        partial = self._averaging.overlaps and self._averaging.partial is True
        config = RoundConfig(
            me=self._me,
            run_id=self._run,
            numbers=self._averaging,
            lines=self.lines,
            penalties=self.reputation,
            failures=self.failures,
            numel=numel,
            numel_max=numel_max,
            minimum_samples=self._minimum,
            target_samples=self._minimum if partial else 0,
        )
        return Matchmaker(config, random=self._random, trace=self._trace)

    @property
    def plan(self) -> Plan | None:
        """The plan of the round that runs, or ran last."""
        return None if self._round is None else self._round.plan

    @property
    def busy(self) -> bool:
        """Whether this peer is promised to a round, or in one."""
        return self.current is not None and self._matchmaker is not None and self._matchmaker.occupied

    def position(
        self,
        name: StateName,
        candidates: Sequence[PeerId],
        *,
        full: bool,
        now: float,
        helpers: Sequence[PeerId] = (),
    ) -> Sequence[Any]:
        """Where this peer stands and with whom; `full`: the target batch is reached, find the group.

        Args:
            name: The state.
            candidates: Who trains on top of it.
            full: See above.
            now: Unix seconds.
            helpers: Who only reduces for others, wherever they stand.
        """
        if self._matchmaker is None:
            return []
        refused = self.current is not None and not self._matchmaker.occupied  # the contribution waits for another plan
        outputs = self._matchmaker.stand(
            (name.epoch, name.lineage), candidates, helpers=helpers, full=full or refused, now=now
        )
        return self._follow(outputs, now)

    def heard(self, name: StateName) -> None:
        """Somebody stands at this state: a round of ours that failed may have led there."""
        if self._unheard.heard(name):
            self._trace.mark("rounds.settled_late")

    def away(self, now: float) -> Sequence[Any]:
        """This peer takes part in no new round; one that runs goes on."""
        return self._follow(self._matchmaker.stand(None, (), now=now), now) if self._matchmaker is not None else []

    def leave(self, now: float) -> Sequence[Any]:
        """Leave the round that runs, and tell its members."""
        return self._follow(self._round.leave(now), now, ours=True) if self._round is not None else []

    def offer(self, *, samples: int, loss: float, now: float) -> Sequence[Any]:
        """The contribution is written down: so many samples, their mean loss."""
        self._standing = (samples, loss)
        if self._matchmaker is None or self.current is None:
            return []
        return self._offer(self.current, samples, loss, now=now)

    def _offer(self, round_id: bytes, samples: int, loss: float, *, now: float) -> Sequence[Any]:
        assert self._matchmaker is not None
        mine = Member(self._me, samples, loss, self.reduces, not self._helps, self.samples_per_s)
        return self._follow(self._matchmaker.offer(round_id, mine, now), now)

    @property
    def deadline(self) -> float | None:
        """The earliest of its machines' deadlines."""
        parts = (self._matchmaker, self._round, self.attesting)
        return earliest(*(part.deadline for part in parts if part is not None))

    def handle(self, event: Received[Any] | Tick | Lost, now: float) -> Sequence[Any]:
        """An event goes to the matchmaker, the round or the receipts; what follows from it is returned."""
        outputs: list[Any] = []
        match event:
            case Received(message=message) if isinstance(message, _IN_ROUND):
                outputs += self._in_round(event, now)
            case Received(message=Attested() | Bundle()):
                outputs += self.attesting.handle(event, now)
            case Received(sender=sender, message=message):
                if self._matchmaker is not None:
                    outputs += self._matchmaker.handle(event, now)
                elif isinstance(message, Call | Wanted):
                    outputs.append(Send(sender, Declined(message.epoch, message.lineage, message.attempt, "away")))
            case Tick() | Lost():
                outputs += self._matchmaker.handle(event, now) if self._matchmaker is not None else []
                outputs += self._round.handle(event, now) if self._round is not None else []
                outputs += self.attesting.handle(event, now)
        return self._follow(outputs, now)

    def _in_round(self, event: Received[Any], now: float) -> Sequence[Any]:
        if self._round is not None and self._round.concerns(event.message.round):
            outputs = self._round.handle(event, now)
            self.lines.saw(event.sender, event.message, outputs, now)
            return outputs
        early = event.message.round == self.current and not event.message.bulk
        if early and len(self._early) < EARLY_MAX:
            self._early.append(event)
        else:
            self._trace.mark("rounds.drop.foreign")
        return []

    def _follow(self, outputs: Sequence[Any], now: float, *, ours: bool = False) -> list[Any]:
        """Act on the events among these; a round that fails by them fails by `ours`, our own doing, or by others'."""
        followed: list[Any] = []
        for output in outputs:
            match output:
                case ContributionWanted(round=round_id):
                    followed += self._wanted(round_id, now)
                case GroupFormed(plan=plan):
                    followed += self._begin(plan, now)
                case PlanRefused(round=round_id):
                    followed += self._abandon(round_id, now)
                case MemberRefused(round=round_id, peer=peer):
                    followed += self._without(round_id, peer, now)
                case GroupFailed(round=round_id, reason=reason, samples=samples):
                    followed += self._missed(round_id, reason, samples)
                case RoundFailed():
                    followed += self._failed(output, now, ours=ours)
                case RoundFinished(outcome=outcome):
                    followed += self._committed(outcome, now)
                case Receipted(split_by=leader, sure=sure) if leader is not None:
                    self.reputation.split(leader, now, sure=sure)
                    followed.append(output)
                case _:
                    followed.append(output)
        return followed

    def _wanted(self, round_id: bytes, now: float) -> Sequence[Any]:
        """A leader wants the contribution; one that stands still already, for a call that lost, serves at once."""
        asked, self.current = self.current, round_id
        self._early = [event for event in self._early if event.message.round == round_id]
        standing = (0, 0.0) if self._helps else self._standing
        if standing is not None:
            samples, loss = standing
            return self._offer(round_id, samples, loss, now=now)
        return [] if asked is not None else [Asked(round_id)]

    def _begin(self, plan: Plan, now: float) -> Sequence[Any]:
        contribution, mean = self._vectors
        try:
            begun = TOPOLOGIES[plan.topology](
                self._me,
                plan,
                RoundInput(contribution, mean, codec_of(plan.codec, self._layout), self._carry(plan), self._aggregator),
                trace=self._trace,
                secret=self._secret,
                remembered=self.reputation.remembered(plan.peers, usual=self.lines.usual),
            )
        except ValueError:
            self._trace.mark("rounds.refused")
            return self._follow(self._matchmaker.refuse(plan, now), now) if self._matchmaker is not None else []
        self._round = begun
        self._unheard.begun()
        self.lines.begun(plan, now)
        outputs = [*self.attesting.expect(plan), *self._follow([Formed(plan), *begun.start(now)], now, ours=True)]
        early, self._early = self._early, []
        for event in early:
            outputs += self._follow(begun.handle(event, now), now)
        return outputs

    def _failed(self, failed: RoundFailed, now: float, *, ours: bool) -> Sequence[Any]:
        plan = None if self._round is None else self._round.plan
        self._unheard.failed(self._round)
        if ours or plan is None or plan.round != failed.round:
            if self._matchmaker is not None:
                self._matchmaker.round_over()
        else:
            self.lines.failed(plan, now)
            self.reputation.failed(plan, failed.suspects, now)
            if self._matchmaker is not None:
                self._matchmaker.round_over(failed=plan)
        return self._missed(failed.round, failed.reason, None)

    def _abandon(self, round_id: bytes, now: float) -> Sequence[Any]:
        """The plan is bad.  The contribution stands and waits for the next one."""
        self._early = []
        if self._round is None or self._round.plan.round != round_id:
            return []
        return [output for output in self._round.leave(now) if not isinstance(output, RoundFailed)]

    def _without(self, round_id: bytes, peer: PeerId, now: float) -> Sequence[Any]:
        """A member that does not follow the plan is as good as gone."""
        if self._round is None or self._round.plan.round != round_id:
            return []
        return self._follow(self._round.handle(Received(peer, Leaving(round_id)), now), now)

    def _carry(self, plan: Plan) -> Carry | None:
        """What the plan's codec loses is carried on, if it is coarse."""
        if plan.codec not in FEEDBACK:
            return None
        samples = next(member.samples for member in plan.members if member.peer == self._me)
        codec = codec_of(plan.codec, self._layout)
        return Carry(codec, self._residuals, samples=samples, chunks=plan.chunk_total)

    def _missed(self, round_id: bytes, reason: str, samples: int | None) -> Sequence[Any]:
        if round_id != self.current:
            return []
        self.current = self._standing = None
        self._early = []
        return [Missed(round_id, reason, samples)]

    def _committed(self, outcome: Outcome, now: float) -> Sequence[Any]:
        assert self._round is not None
        plan = self._round.plan
        self.lines.finished(plan, outcome, now)
        self.failures.finished(plan, outcome)
        self.reputation.committed(plan, outcome.versions, self._round.leader, now, seen=outcome.seen)
        name = state_after(plan, outcome)
        if outcome.round == self.current:  # a new trainer, in another round, may have come meanwhile
            self.current = self._standing = None
        record = RoundRecord(
            name, outcome.contributors, outcome.loss, outcome.missing, outcome.seconds, credited=outcome.credited
        )
        statement = statement_of(plan, outcome, run=self._run, epoch=name.epoch, lineage=name.lineage)
        signed = self.attesting.sign(statement, leader=self._round.leader, now=now)
        return [Committed(outcome.round, record, gives=plan.gift(plan.peers.index(self._me)) > 0), *signed]
