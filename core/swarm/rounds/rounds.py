"""A peer's rounds, one after the other: finding the group, averaging, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Any, Final

import msgspec

from core.averaging.aggregators import AGGREGATORS, Aggregator
from core.averaging.bandwidth.book import LineBook
from core.averaging.butterfly import Butterfly, RoundInput
from core.averaging.distances import DistanceBook
from core.averaging.feedback import Carry, MemoryStore, ResidualStore
from core.averaging.grid.grid import Grid
from core.averaging.grid.layout import FailureRate
from core.averaging.grid.plans import GRID_MESSAGES
from core.averaging.matchmaking import (
    GROUP_MESSAGES,
    ContributionWanted,
    GroupFailed,
    GroupFormed,
    MemberRefused,
    PlanRefused,
)
from core.averaging.matchmaking.attempts import RoundConfig
from core.averaging.matchmaking.matchmaker import Matchmaker
from core.averaging.messages import ROUND_MESSAGES, Leaving
from core.averaging.outcome import Outcome, RoundFailed, RoundFinished
from core.averaging.penalties import Penalties
from core.averaging.plan import Member, Plan
from core.averaging.receipts.exchange import Attesting, Receipted
from core.averaging.receipts.receipt import Attested, statement_of
from core.averaging.weights import EarnedSpeeds, counted_in
from core.base.arrays import np
from core.base.bounds import NORM_MAX
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, Trace, earliest
from core.base.signing import Signer, Signing, Verifier
from core.codecs.codec import norm_of
from core.codecs.registry import FEEDBACK, codec_of
from core.swarm.rounds.early_messages import EarlyMessages
from core.swarm.rounds.in_doubt import InDoubtRound, state_after
from core.swarm.words.orders import ContributionCut, RoundRecord
from core.swarm.words.outputs import Asked, Committed, Formed, Missed, Output, RoundsOutput
from core.swarm.words.settings import ParticipantSettings
from core.swarm.words.states import StateName

if TYPE_CHECKING:
    from numpy.typing import NDArray

SECRET_BYTES: Final = 32
_IN_ROUND: Final = (*ROUND_MESSAGES, *GRID_MESSAGES)


@dataclass(frozen=True, slots=True)
class RoundVectors:
    """The trainer's vectors, from which each round takes what it averages.

    Attributes:
        contribution: Shape (parameters,); what the trainer contributes is written there.  None: a helper's.
        mean: Shape (parameters,); where the mean is to be.  None: a helper holds only the share that it reduces.
        layout: Sizes of the tensors in both, in order.
        residuals: Where the errors of a coarse codec are kept.  None: where they are now, at first in memory.
    """

    contribution: NDArray[np.float32] | None = None
    mean: NDArray[np.float32] | None = None
    layout: Sequence[int] = ()
    residuals: ResidualStore | None = None

    def row(self, mine: Member) -> Member:
        """Return a member's row with what follows from its vectors; without samples where they have diverged."""
        receives, norm = self.contribution is not None, 0.0
        if self.contribution is not None and mine.samples:
            norm = norm_of(self.contribution)
        if not norm <= NORM_MAX:
            return msgspec.structs.replace(mine, samples=0, loss=0.0, receives=receives)
        return msgspec.structs.replace(mine, norm=norm, receives=receives)

    def round_input(self, plan: Plan, me: PeerId, aggregator: Aggregator) -> RoundInput:
        """Return what member `me` brings to a round of this plan; a coarse codec carries on what it loses.

        Raises:
            ValueError: the codec does not fit the layout.
        """
        codec, carry = codec_of(plan.codec, self.layout), None
        if plan.codec in FEEDBACK and self.residuals is not None:
            carry = Carry(codec, self.residuals, samples=plan.weights[plan.peers.index(me)])
        return RoundInput(self.contribution, self.mean, codec, carry, aggregator)


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

    MESSAGES: Final = (*GROUP_MESSAGES, *ROUND_MESSAGES, *GRID_MESSAGES, Attested)

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
        self._identity = Signing(signer, verifier)
        self._settings = settings
        self.aggregator = AGGREGATORS[settings.averaging.aggregator_name](**settings.averaging.aggregator_numbers)
        self._random = random
        self._secret = random.randbytes(SECRET_BYTES)
        self._trace = trace
        self._vectors = RoundVectors(residuals=MemoryStore())
        self._round: Butterfly | Grid | None = None
        self._standing: tuple[int, float] | None = None
        self._early = EarlyMessages()
        self.in_doubt = InDoubtRound(trace)
        """To be told where others stand: a round that failed here may have led there."""
        self.attesting = Attesting(signer=signer, verifier=verifier, trace=trace)
        """Its `Receipted` goes on to the owner."""
        self.attesting.carried, self.attesting.account = carried or dict, settings.account
        self.reduces = True
        """Whether this peer wants a share to reduce; one that others reach through relays only does not."""
        self.samples_per_s = 0.0
        """What this peer computes; 0: unknown."""
        self.heldout: tuple[int, float | None] = (0, None)
        """This peer's newest look at the held-out text: epoch, and mean loss in nats."""
        self.lines = LineBook(self._identity.peer_id)
        """What is known of everybody's lines."""
        self.failures = FailureRate()
        """How often peers have failed in rounds of ours."""
        self.earned = EarnedSpeeds(settings.averaging.weight_share_max, settings.account)
        """How much of what peers say of their samples is believed."""
        self.penalties = Penalties(self._identity.peer_id, round_timeout_s=settings.averaging.round_timeout_s)
        """Penalties of members to which failed rounds are attributed, or that cost successful ones time."""
        self.distances = DistanceBook(self._secret)
        """How far members' parts lay from the others' where this peer reduced them."""
        self.current: bytes | None = None
        """The round for which a contribution was asked."""
        self.serve(self._vectors)

    def serve(self, vectors: RoundVectors, *, helped_numel: int = 0) -> None:
        """Take part in rounds with these vectors from now on; a round that runs keeps the ones it has.

        Args:
            vectors: The trainer's; without a contribution this peer answers calls with no samples.
            helped_numel: Length of the longest vector that this peer reduces for others without a trainer.
        """
        self._vectors = replace(vectors, residuals=vectors.residuals or self._vectors.residuals)
        self.current = self._standing = None
        config = RoundConfig(
            me=self._identity.peer_id,
            run_id=self._settings.run,
            numbers=self._settings.averaging,
            lines=self.lines,
            penalties=self.penalties,
            failures=self.failures,
            earned=self.earned,
            numel=None if vectors.contribution is None else len(vectors.contribution),
            numel_max=helped_numel,
            target_samples=self._settings.target_samples,
        )
        self._matchmaker = Matchmaker(config, random=self._random, trace=self._trace)

    @property
    def plan(self) -> Plan | None:
        """The plan of the round that runs, or ran last."""
        return None if self._round is None else self._round.plan

    @property
    def busy(self) -> bool:
        """Whether this peer is promised to a round, or in one."""
        return self.current is not None and self._matchmaker.occupied

    def position(
        self,
        name: StateName | None,
        candidates: Sequence[PeerId] = (),
        *,
        full: bool = False,
        now: float,
        helpers: Sequence[PeerId] = (),
    ) -> Sequence[Output]:
        """Take in where this peer stands and beside which others.

        Args:
            name: The state; None: this peer takes part in no new round, and one that runs goes on.
            candidates: Peers that train on top of it.
            full: Whether the target batch is reached: find the group.
            now: Unix seconds.
            helpers: Peers that only reduce for others, wherever they stand.
        """
        refused = self.current is not None and not self._matchmaker.occupied  # the contribution waits for another plan
        stand = None if name is None else (name.epoch, name.lineage)
        outputs = self._matchmaker.stand(stand, candidates, helpers=helpers, full=full or refused, now=now)
        return self._follow(outputs, now)

    def leave(self, now: float) -> Sequence[Output]:
        """Leave the round that runs, and tell its members."""
        return self._follow(self._round.leave(), now, ours=True) if self._round is not None else []

    def offer(self, *, samples: int, loss: float, now: float) -> Sequence[Output]:
        """Offer the contribution that is written down: its samples, and their mean loss."""
        self._standing = (samples, loss)
        if self.current is None:
            return []
        mine = Member(self._identity.peer_id, samples, loss, self.reduces, samples_per_s=self.samples_per_s)
        mine = self._vectors.row(mine.seen(*self.heldout))
        if mine.samples < samples:
            self._trace.mark("contribution.not_finite")
        return self._follow(self._matchmaker.offer(self.current, mine, now), now)

    @property
    def deadline(self) -> float | None:
        """The earliest of its machines' deadlines."""
        round_at = None if self._round is None else self._round.deadline
        return earliest(self._matchmaker.deadline, round_at, self.attesting.deadline)

    def handle(self, event: Received[Any] | Tick | Lost, now: float) -> Sequence[Output]:
        """Pass an event to the matchmaker, the round or the receipts, and return what follows from it."""
        outputs: list[RoundsOutput] = []
        match event:
            case Received(message=message) if isinstance(message, _IN_ROUND):
                if self._round is not None and self._round.concerns(message.round):
                    outputs += self._round.handle(event, now)
                    self.lines.saw(event.sender, message, outputs, now)
                elif not self._early.keep(event):
                    self._trace.mark("rounds.drop.foreign")
            case Received(message=Attested()):
                outputs += self.attesting.handle(event, now)
            case Received():
                outputs += self._matchmaker.handle(event, now)
            case Tick() | Lost():
                outputs += self._matchmaker.handle(event, now)
                outputs += self._round.handle(event, now) if self._round is not None else []
                outputs += self.attesting.handle(event, now)
        return self._follow(outputs, now)

    def _follow(self, outputs: Sequence[RoundsOutput], now: float, *, ours: bool = False) -> list[Output]:
        """Act on the events among these; a round that fails by them fails by `ours`, our own doing, or by others'."""
        followed: list[Output] = []
        for output in outputs:
            match output:
                case ContributionWanted(round=round_id):
                    followed += self._wanted(round_id, now)
                case GroupFormed(plan=plan):
                    followed += self._begin(plan, now)
                case PlanRefused() | MemberRefused():
                    followed += self._refused(output, now)
                case GroupFailed() | RoundFailed():
                    followed += self._failed(output, now, ours=ours)
                case RoundFinished(outcome=outcome):
                    followed += self._committed(outcome, now)
                case Receipted(split_by=leader, sure=sure) if leader is not None:
                    self.penalties.split(leader, now, sure=sure)
                    followed.append(output)
                case _:
                    followed.append(output)
        return followed

    def _wanted(self, round_id: bytes, now: float) -> Sequence[Output]:
        """A leader wants the contribution; one that stands still already, for a call that lost, serves at once."""
        asked, self.current = self.current, round_id
        self._early.wait_for(round_id)
        standing = self._standing if self._vectors.contribution is not None else (0, 0.0)
        if standing is not None:
            return self.offer(samples=standing[0], loss=standing[1], now=now)
        return [] if asked is not None else [Asked(round_id)]

    def _begin(self, plan: Plan, now: float) -> Sequence[Output]:
        try:
            remembered = self.penalties.remembered(plan.peers, now, usual=self.lines.usual)
            work = self._vectors.round_input(plan, self._identity.peer_id, self.aggregator)
            work = replace(work, secret=self._secret, remembered=remembered, identity=self._identity)
            work = replace(work, distances=self.distances)
            begun = (Butterfly if plan.stages == 1 else Grid)(self._identity.peer_id, plan, work, trace=self._trace)
        except ValueError:
            self._trace.mark("rounds.refused")
            return self._follow(self._matchmaker.refuse(plan, now), now)
        self._round = begun
        self.in_doubt.begun()
        self.lines.begun(plan, now)
        self.attesting.expect(plan)
        outputs = self._follow([Formed(plan), *begun.start(now)], now, ours=True)
        for event in self._early.take():
            outputs += self._follow(begun.handle(event, now), now)
        return outputs

    def _refused(self, refused: PlanRefused | MemberRefused, now: float) -> Sequence[Output]:
        """A refused plan ends the round, and the contribution waits for another; a refusing member has left it."""
        if self._round is None or self._round.plan.round != refused.round:
            return []
        if isinstance(refused, MemberRefused):
            return self._follow(self._round.handle(Received(refused.peer, Leaving(refused.round)), now), now)
        return [output for output in self._round.leave() if isinstance(output, Send)]

    def _failed(self, failed: GroupFailed | RoundFailed, now: float, *, ours: bool) -> Sequence[Output]:
        if isinstance(failed, RoundFailed):
            self.in_doubt.failed(self._round)
            plan = None if ours or self.plan is None or self.plan.round != failed.round else self.plan
            if plan is not None:
                self.lines.failed(plan, now)
                self.penalties.failed(plan, failed.suspects, now)
            self._matchmaker.round.over(plan)
        if failed.round != self.current:
            return []
        self.current = self._standing = None
        self._early.wait_for(None)
        return [Missed(failed.round, failed.reason, failed.samples if isinstance(failed, GroupFailed) else None)]

    def _committed(self, outcome: Outcome, now: float) -> Sequence[Output]:
        assert self._round is not None
        if not outcome.contributors:  # all members see so: nobody takes a step with the mean of nobody
            return self._failed(RoundFailed(outcome.round, "no contribution arrived"), now, ours=False)
        plan = self._round.plan
        self.lines.finished(plan, outcome, now)
        self.failures.finished(plan, outcome)
        self.penalties.committed(plan, outcome.versions, self._round.leader, now, seen=outcome.seen)
        self.penalties.patience.committed(plan, outcome, now, me=self._identity.peer_id)
        name = state_after(plan, outcome)
        counted, after = counted_in(plan, outcome.contributors), (name.epoch, name.lineage)
        self.earned.committed((plan.epoch, plan.lineage), after, counted, began_at=now - outcome.seconds)
        offered = self._standing[0] if outcome.round == self.current and self._standing is not None else 0
        if outcome.round == self.current:  # a new trainer, in another round, may have come meanwhile
            self.current = self._standing = None
        statement = statement_of(plan, outcome, run=self._settings.run, epoch=name.epoch, lineage=name.lineage)
        signed = self.attesting.sign(statement, leader=self._round.leader, now=now)
        me = plan.peers.index(self._identity.peer_id)
        cut = ContributionCut(name.epoch, offered, plan.weights[me], outcome.own_scaled / plan.chunk_total)
        return [Committed.of(plan, me, RoundRecord.of(outcome, statement)), *cut.told, *signed]
