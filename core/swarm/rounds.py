"""A peer's rounds, one after the other: finding the group, averaging, and what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.averaging.events import ContributionWanted, GroupFailed, GroupFormed
from core.averaging.group import Matchmaker
from core.averaging.messages import ROUND_MESSAGES, Call, Declined, Wanted
from core.averaging.outcome import Outcome, RoundFailed, RoundFinished
from core.averaging.plan import GROUP_MESSAGES, Plan
from core.averaging.topologies import TOPOLOGIES, Butterfly
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, earliest
from core.base.manifest import AveragingNumbers
from core.base.trace import Trace
from core.swarm.orders import RoundRecord
from core.swarm.states import StateName

EARLY_MAX = 256
"""Messages of a round that are kept until its plan is here.  Bulk is none of them: nobody sends it before our Open."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Write the contribution down, then `offer` it."""

    round: bytes


@dataclass(frozen=True, slots=True)
class Formed:
    """The group stands, the round has begun."""


@dataclass(frozen=True, slots=True)
class Missed:
    """The round, or the search for its group, came to nothing: the contribution is free again."""

    round: bytes
    reason: str
    samples: int | None
    """What the group would have brought together, when that was too little for a step."""


@dataclass(frozen=True, slots=True)
class Committed:
    """The mean is in its vector and may be absorbed."""

    round: bytes
    record: RoundRecord


class Rounds:
    """Matchmaking and the round that follows from it, as one machine.

    Args:
        me: This peer.
        run: The manifest's id.
        averaging: The manifest's numbers.
        minimum: Samples that a group must bring together, or it is not worth a step.
    """

    MESSAGES: Final = (*GROUP_MESSAGES, *ROUND_MESSAGES)

    def __init__(
        self, *, me: PeerId, run: bytes, averaging: AveragingNumbers, minimum: int, random: Random, trace: Trace
    ) -> None:
        self._me = me
        self._run = run
        self._averaging = averaging
        self._minimum = minimum
        self._random = random
        self._trace = trace
        self._vectors: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None
        self._matchmaker: Matchmaker | None = None
        self._round: Butterfly | None = None
        self._standing: tuple[int, float] | None = None
        self._early: list[Received[Any]] = []
        self.reduces = True
        """Whether this peer wants a share to reduce; one that others reach through relays only does not."""
        self.current: bytes | None = None
        """The round for which a contribution was asked."""

    def vectors(self, contribution: NDArray[np.float32], mean: NDArray[np.float32]) -> None:
        """The trainer's vectors from now on, shape (parameters,).  A round that runs keeps the ones it has."""
        self._vectors = (contribution, mean)
        self.current = self._standing = None
        self._matchmaker = Matchmaker(
            self._me,
            run_id=self._run,
            numel=len(contribution),
            numbers=self._averaging,
            random=self._random,
            trace=self._trace,
            minimum_samples=self._minimum,
        )

    def position(self, name: StateName, candidates: Sequence[PeerId], *, full: bool, now: float) -> Sequence[Any]:
        """Where this peer stands and with whom; `full`: the target batch is reached, find the group."""
        if self._matchmaker is None:
            return []
        if full:
            return self._follow(self._matchmaker.look(name.epoch, name.lineage, candidates, now=now), now)
        return self._follow(self._matchmaker.position(name.epoch, name.lineage, candidates), now)

    def away(self, now: float) -> Sequence[Any]:
        """This peer takes part in no new round; one that runs goes on."""
        return self._follow(self._matchmaker.stop(), now) if self._matchmaker is not None else []

    def leave(self, now: float) -> Sequence[Any]:
        """Leave the round that runs, and tell its members."""
        return self._follow(self._round.leave(now), now) if self._round is not None else []

    def offer(self, *, samples: int, loss: float, now: float) -> Sequence[Any]:
        """The contribution is written down: so many samples, their mean loss in nats."""
        self._standing = (samples, loss)
        if self._matchmaker is None or self.current is None:
            return []
        return self._follow(self._matchmaker.offer(self.current, samples, loss, now=now, reduces=self.reduces), now)

    @property
    def deadline(self) -> float | None:
        """The earlier of both machines' deadlines."""
        parts = (self._matchmaker, self._round)
        return earliest(*(part.deadline for part in parts if part is not None))

    def handle(self, event: Received[Any] | Tick | Lost, now: float) -> Sequence[Any]:
        """Advance by one event."""
        outputs: list[Any] = []
        match event:
            case Received(message=message) if isinstance(message, ROUND_MESSAGES):
                outputs += self._in_round(event, now)
            case Received(sender=sender, message=message):
                if self._matchmaker is not None:
                    outputs += self._matchmaker.handle(event, now)
                elif isinstance(message, Call | Wanted):
                    outputs.append(Send(sender, Declined(message.epoch, message.lineage, message.attempt, "away")))
            case Tick() | Lost():
                outputs += self._matchmaker.handle(event, now) if self._matchmaker is not None else []
                outputs += self._round.handle(event, now) if self._round is not None else []
        return self._follow(outputs, now)

    def _in_round(self, event: Received[Any], now: float) -> Sequence[Any]:
        if self._round is not None and event.message.round == self._round.plan.round:
            return self._round.handle(event, now)
        early = event.message.round == self.current and not event.message.bulk
        if early and len(self._early) < EARLY_MAX:
            self._early.append(event)
        else:
            self._trace.mark("rounds.drop.foreign")
        return []

    def _follow(self, outputs: Sequence[Any], now: float) -> list[Any]:
        followed: list[Any] = []
        for output in outputs:
            match output:
                case ContributionWanted(round=round_id):
                    followed += self._wanted(round_id, now)
                case GroupFormed(plan=plan):
                    followed += self._begin(plan, now)
                case GroupFailed(round=round_id, reason=reason, samples=samples):
                    followed += self._missed(round_id, reason, samples)
                case RoundFailed(round=round_id, reason=reason):
                    if self._matchmaker is not None:
                        self._matchmaker.reopen()
                    followed += self._missed(round_id, reason, None)
                case RoundFinished(outcome=outcome):
                    followed.append(self._committed(outcome))
                case _:
                    followed.append(output)
        return followed

    def _wanted(self, round_id: bytes, now: float) -> Sequence[Any]:
        """A leader wants the contribution; one that stands still already, for a call that lost, serves at once."""
        asked, self.current = self.current, round_id
        self._early = [event for event in self._early if event.message.round == round_id]
        if self._standing is not None:
            assert self._matchmaker is not None
            samples, loss = self._standing
            return self._follow(self._matchmaker.offer(round_id, samples, loss, now=now, reduces=self.reduces), now)
        return [] if asked is not None else [Asked(round_id)]

    def _begin(self, plan: Plan, now: float) -> Sequence[Any]:
        assert self._vectors is not None
        contribution, mean = self._vectors
        self._round = TOPOLOGIES[plan.topology](
            self._me, plan, contribution=contribution, result=mean, trace=self._trace
        )
        outputs: list[Any] = [Formed(), *self._round.start(now)]
        early, self._early = self._early, []
        for event in early:
            outputs += self._round.handle(event, now)
        return self._follow(outputs, now)

    def _missed(self, round_id: bytes, reason: str, samples: int | None) -> Sequence[Any]:
        if round_id != self.current:
            return []
        self.current = self._standing = None
        self._early = []
        return [Missed(round_id, reason, samples)]

    def _committed(self, outcome: Outcome) -> Committed:
        assert self._round is not None
        plan = self._round.plan
        before = StateName(plan.epoch, plan.lineage)
        name = before.next(round_id=outcome.round, samples=outcome.samples, outcome=outcome.fingerprint)
        if (
            outcome.round == self.current
        ):  # not so when the trainer has gone meanwhile, and a new one is in another round
            self.current = self._standing = None
        record = RoundRecord(name, outcome.contributors, outcome.loss, outcome.missing, outcome.seconds)
        return Committed(outcome.round, record)
