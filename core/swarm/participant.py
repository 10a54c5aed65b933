"""A peer of a collaboration: the DHT node, progress, the epoch machine, averaging and catching up.

It is a machine itself.  The trainer is spoken to in orders (`core.swarm.orders`) and answers in events
(`core.swarm.answers`); in the real program the engine carries both between it and the worker process, in the simulator
a pretended worker answers.
"""

import math
from collections.abc import Sequence
from typing import Any, Final

from core.averaging.codecs import ADAPTIVE, FEEDBACK
from core.base.machine import Lost, Received, Tick
from core.base.wire import Message
from core.dht.events import Found
from core.dht.messages import DHT_MESSAGES, Contact, Observed
from core.nat.events import ReachChanged
from core.swarm.answers import (
    ContributionWritten,
    HeldoutEvaluated,
    SamplesCounted,
    StateLoaded,
    StateOffered,
    StepTaken,
    TrainerAnswer,
    TrainerGone,
    TrainerReady,
)
from core.swarm.conduct import Conduct
from core.swarm.epoch import Cue, Phase
from core.swarm.facts import Help
from core.swarm.messages import CATCH_UP_MESSAGES
from core.swarm.orders import (
    Changed,
    Evaluate,
    HeldoutLearned,
    Restart,
)
from core.swarm.parts import Pending
from core.swarm.rounds import Asked, Committed, Formed, Missed, Rounds
from core.swarm.states import State

DEADLY = 4
"""A state during whose loading the trainer went counts as so many failures in a row to fetch it."""
FALSE = 8
"""A state that is not what it was called counts as so many."""

ParticipantEvent = (
    Received[Any]
    | Tick
    | Lost
    | Observed
    | TrainerAnswer
    | Help
    | Found
    | Asked
    | Formed
    | Missed
    | Committed
    | ReachChanged
)


class Participant(Conduct):
    """See the module's docstring; its arguments are those of `Parts`."""

    MESSAGES: Final[tuple[type[Message], ...]] = (*DHT_MESSAGES, *Rounds.MESSAGES, *CATCH_UP_MESSAGES)

    # --- the machine -------------------------------------------------------------------------------------------------

    def start(self, contacts: Sequence[Contact], *, host: str = "", port: int = 0, now: float) -> Sequence[Any]:
        """Join the swarm through `contacts`; others reach this peer at host and port (empty: they observe it)."""
        self._address = (host, port)
        self._beacon.start(now)
        self._line_news.start(now)
        return self._follow([*self.dht.bootstrap(list(contacts), now), *self._beat(now)], now)

    def handle(self, event: ParticipantEvent, now: float) -> Sequence[Any]:
        """Advance by one event: from the network, from the trainer, from the owner, or from one of its machines."""
        outputs: list[Any] = []
        match event:
            case Lost(peer=peer):
                self.membership.lost(peer, now)
                outputs += self._parts.handle(event, now)
            case Observed():
                outputs += self.dht.handle(event, now)
            case Received() | Tick():
                outputs += self._parts.handle(event, now)
            case Help(room_bytes=room_bytes):
                outputs += self._help(room_bytes, now)
            case _ if isinstance(event, TrainerAnswer):
                outputs += self._answered(event, now)
            case _:
                outputs.append(event)
        if isinstance(event, Tick):
            outputs += self._beat(now)
        return self._follow(outputs, now)

    # --- without a trainer -------------------------------------------------------------------------------------------

    def _help(self, room_bytes: int, now: float) -> Sequence[Any]:
        if self.epochs.phase is not Phase.IDLE:
            raise ValueError("a peer with a trainer reduces anyway")
        leaving = [*self.rounds.away(now), *self.rounds.leave(now)]
        self.standby.help(self._room_for_numbers(room_bytes))
        self.rounds.help(self.standby.numel_max)
        self._beacon.hurry(now)
        return [*leaving, Changed(), *self._stand_by(now), *self._beat(now)]

    def _room_for_numbers(self, room_bytes: int) -> int:
        """What is left of it for a share's numbers: residuals, where the codec has them, take as much again."""
        codec = self.settings.averaging.codec
        if codec == ADAPTIVE:  # it goes by the sizes of the tensors, which only those who train know
            return 0
        return room_bytes // 2 if codec in FEEDBACK else room_bytes

    # --- the trainer's answers ---------------------------------------------------------------------------------------

    def _answered(self, answer: TrainerAnswer, now: float) -> Sequence[Any]:
        match answer:
            case TrainerReady():
                return self._ready(answer, now)
            case TrainerGone():
                return self._gone(now)
            case SamplesCounted():
                return self._counted(answer, now)
            case ContributionWritten():
                return self._written(answer, now)
            case StepTaken():
                return self._stepped(answer, now)
            case StateLoaded(state=state):
                return self._loaded(state, now)
            case HeldoutEvaluated():
                return self._evaluated(answer, now)
            case StateOffered(file=file, ledger=ledger):
                self.donor.offer(file, ledger=ledger)
                return []

    def _ready(self, ready: TrainerReady, now: float) -> Sequence[Any]:
        self.epochs.begin(ready.state)
        self.standby.help(0)
        self.rounds.vectors(ready.contribution, ready.mean, layout=ready.layout, residuals=ready.residuals)
        self.pending = Pending()
        self._joined_at = now
        self._beacon.hurry(now)
        first = [Evaluate()] if self.settings.evaluate_first else []
        return [*first, *self._beat(now)]

    def _gone(self, now: float) -> Sequence[Any]:
        if self.epochs.phase is Phase.LOADING:
            self._pursuit.doubt(now, times=DEADLY)
        self.epochs.advance(Cue.GONE)
        self._watch.heard()
        self.pending = Pending()
        goodbyes = self._fetch.stop()
        self.fetching = None
        self._beacon.hurry(now)
        return [*goodbyes, *self.rounds.away(now), Changed(), *self._beat(now)]

    def _counted(self, counted: SamplesCounted, now: float) -> Sequence[Any]:
        state = self.epochs.state
        if state is None or state.name.epoch != counted.epoch:
            return []
        self._watch.heard()
        before = self.pending
        loss = counted.loss if math.isfinite(counted.loss) else before.loss
        pending = self.pending = Pending(counted.samples, 0, counted.samples_per_s, loss, now)
        match self.epochs.phase:
            case Phase.OFFERED | Phase.AVERAGING:
                pending.samples, pending.ahead = counted.samples - counted.ahead, counted.ahead
            case Phase.STEPPING:
                pending.samples = counted.ahead
        return [Changed()]

    def _written(self, written: ContributionWritten, now: float) -> Sequence[Any]:
        """A late answer to a round that is over means nothing, and a contribution whose loss is no number no samples.

        The peer takes part without samples then.
        """
        self._watch.heard()
        samples, loss = written.samples, written.loss
        if not math.isfinite(loss):
            self.trace.mark("contribution.not_finite")
            samples, loss = 0, 0.0
        if self.epochs.phase is not Phase.COLLECTING or written.round != self._collecting:
            return []
        self.epochs.advance(Cue.COLLECTED)
        self.pending.samples, self.pending.ahead = samples, 0
        self.rounds.samples_per_s = self._speed if math.isfinite(self._speed) else 0.0
        return self.rounds.offer(samples=samples, loss=loss, now=now)

    def _stepped(self, step: StepTaken, now: float) -> Sequence[Any]:
        if not self.epochs.may(Cue.STEPPED):
            return []
        self.epochs.hold(step.state)
        self.epochs.advance(Cue.STEPPED)
        self._stragglers.stepped(now)
        if step.samples and math.isfinite(step.loss):
            self.pending.loss = step.loss
        return self._settled(now, samples=step.samples)

    def _loaded(self, state: State, now: float) -> Sequence[Any]:
        if not self.epochs.may(Cue.LOADED):
            return []
        held = self.epochs.state
        if self._pursuit.arrived(state.name):
            self.epochs.hold(state)
            self.epochs.advance(Cue.LOADED)
            return self._settled(now)
        self.trace.mark("state.load.refused")
        self._pursuit.doubt(now, times=FALSE)
        if held is None or (state.name, state.digest) != (held.name, held.digest):
            # nobody knows what the trainer holds now
            return [Restart()]
        self.epochs.advance(Cue.LOADED)
        return [Changed(), *self._carry_on(now)]

    def _evaluated(self, evaluated: HeldoutEvaluated, now: float) -> Sequence[Any]:
        self._watch.heard()
        if not math.isfinite(evaluated.loss):
            self.trace.mark("heldout.not_finite")
            return []
        self._heldout = (evaluated.epoch, evaluated.loss)
        self._beacon.hurry(now)
        return [HeldoutLearned(evaluated.epoch, evaluated.loss)]
