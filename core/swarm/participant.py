"""A peer of a collaboration: the DHT node, progress, the epoch machine, averaging and catching up.

It is a machine itself.  The trainer is spoken to in orders (`core.swarm.orders`) and answers by method calls; in the
real program the engine carries them to the worker process, in the simulator a pretended worker answers.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.averaging.codecs import ADAPTIVE, FEEDBACK
from core.averaging.feedback import ResidualStore
from core.base.machine import Lost, Received, Tick
from core.dht.messages import Contact, Observed
from core.swarm.conduct import Conduct
from core.swarm.donor import StateFile
from core.swarm.epoch import Cue, Phase
from core.swarm.orders import (
    Changed,
    Evaluate,
    HeldoutLearned,
    Restart,
)
from core.swarm.parts import HELPING, INFORMED_AFTER_S, ParticipantSettings, Pending
from core.swarm.states import State

DEADLY = 4
"""A state during whose loading the trainer went counts as so many failures in a row to fetch it."""
FALSE = 8
"""A state that is not what it was called counts as so many."""

__all__ = ["HELPING", "INFORMED_AFTER_S", "Participant", "ParticipantSettings"]


class Participant(Conduct):
    """See the module's docstring; its arguments are those of `Parts`."""

    # --- the machine -------------------------------------------------------------------------------------------------

    def start(self, contacts: Sequence[Contact], *, host: str = "", port: int = 0, now: float) -> Sequence[Any]:
        """Join the swarm through `contacts`; others reach this peer at host and port (empty: they observe it)."""
        self._address = (host, port)
        self._beacon.start(now)
        self._line_news.start(now)
        return self._follow([*self.dht.bootstrap(list(contacts), now), *self._beat(now)], now)

    def handle(self, event: Received[Any] | Tick | Lost | Observed, now: float) -> Sequence[Any]:
        """Advance by one event."""
        outputs: list[Any] = []
        match event:
            case Lost(peer=peer):
                self.membership.lost(peer, now)
                outputs += self._parts.handle(event, now)
            case Observed():
                outputs += self.dht.handle(event, now)
            case Received() | Tick():
                outputs += self._parts.handle(event, now)
        if isinstance(event, Tick):
            outputs += self._beat(now)
        return self._follow(outputs, now)

    # --- without a trainer -------------------------------------------------------------------------------------------

    def help(self, room_bytes: int, now: float) -> Sequence[Any]:
        """Reduce for the others with so much memory; 0: no longer.

        Raises:
            ValueError: there is a trainer.
        """
        if self.epochs.phase is not Phase.IDLE:
            raise ValueError("a peer with a trainer reduces anyway")
        leaving = [*self.rounds.away(now), *self.rounds.leave(now)]
        self.standby.help(self._room_for_numbers(room_bytes))
        self.rounds.help(self.standby.numel_max)
        self._beacon.hurry(now)
        return self._follow([*leaving, Changed(), *self._stand_by(now), *self._beat(now)], now)

    def _room_for_numbers(self, room_bytes: int) -> int:
        """What is left of it for a share's numbers: residuals, where the codec has them, take as much again."""
        codec = self.settings.averaging.codec
        if codec == ADAPTIVE:  # it goes by the sizes of the tensors, which only those who train know
            return 0
        return room_bytes // 2 if codec in FEEDBACK else room_bytes

    # --- the trainer's answers ---------------------------------------------------------------------------------------

    def trainer_ready(
        self,
        state: State,
        *,
        contribution: NDArray[np.float32],
        mean: NDArray[np.float32],
        now: float,
        layout: Sequence[int] = (),
        residuals: ResidualStore | None = None,
    ) -> Sequence[Any]:
        """The trainer stands still with `state`, its vectors are these: shape (parameters,); see `Rounds.vectors`."""
        self.epochs.begin(state)
        self.standby.help(0)
        self.rounds.vectors(contribution, mean, layout=layout, residuals=residuals)
        self.pending = Pending()
        self._joined_at = now
        self._beacon.hurry(now)
        first = [Evaluate()] if self.settings.evaluate_first else []
        return self._follow([*first, *self._beat(now)], now)

    def trainer_gone(self, now: float) -> Sequence[Any]:
        """The trainer was stopped.  What it had accumulated is gone; a round that it had contributed to goes on."""
        if self.epochs.phase is Phase.LOADING:
            self._pursuit.doubt(now, times=DEADLY)
        self.epochs.advance(Cue.GONE)
        self._watch.heard()
        self.pending = Pending()
        goodbyes = self._fetch.stop()
        self.fetching = None
        self._beacon.hurry(now)
        return self._follow([*goodbyes, *self.rounds.away(now), Changed(), *self._beat(now)], now)

    def progressed(
        self, *, samples: int, samples_per_s: float, loss: float, now: float, ahead: int = 0
    ) -> Sequence[Any]:
        """The trainer has accumulated so many samples that no step has taken up, and `ahead` of them since Collect.

        Only where computing goes on while a round is averaged are there any ahead.  Before they hear of the round's
        end, trainers count them so; afterwards they are samples like others.
        """
        self._watch.heard()
        before = self.pending
        loss = loss if math.isfinite(loss) else before.loss
        pending = self.pending = Pending(samples, 0, samples_per_s, loss, now)
        match self.epochs.phase:
            case Phase.OFFERED | Phase.AVERAGING:
                pending.samples, pending.ahead = samples - ahead, ahead
            case Phase.STEPPING:
                pending.samples = ahead
        return self._follow([Changed()], now)

    def collected(self, round_id: bytes, *, samples: int, loss: float, now: float) -> Sequence[Any]:
        """The contribution is written down; a late answer to a round that is over means nothing.

        One whose loss is no number counts for nothing: its peer takes part without samples.
        """
        self._watch.heard()
        if not math.isfinite(loss):
            self.trace.mark("contribution.not_finite")
            samples, loss = 0, 0.0
        if self.epochs.phase is not Phase.COLLECTING or round_id != self._collecting:
            return []
        self.epochs.advance(Cue.COLLECTED)
        self.pending.samples, self.pending.ahead = samples, 0
        self.rounds.samples_per_s = self._speed if math.isfinite(self._speed) else 0.0
        return self._follow(self.rounds.offer(samples=samples, loss=loss, now=now), now)

    def stepped(self, state: State, now: float, *, samples: int = 0, loss: float = 0.0) -> Sequence[Any]:
        """The optimiser took its step; so many samples, with this mean loss, count for the next one already."""
        if not self.epochs.may(Cue.STEPPED):
            return []
        self.epochs.hold(state)
        self.epochs.advance(Cue.STEPPED)
        self._stragglers.stepped(now)
        if samples and math.isfinite(loss):
            self.pending.loss = loss
        return self._settled(now, samples=samples)

    def loaded(self, state: State, now: float) -> Sequence[Any]:
        """The downloaded state is in place."""
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
            return self._follow([Restart()], now)
        self.epochs.advance(Cue.LOADED)
        return self._follow([Changed(), *self._carry_on(now)], now)

    def evaluated(self, epoch: int, loss: float, now: float) -> Sequence[Any]:
        """The trainer looked at the held-out text."""
        self._watch.heard()
        if not math.isfinite(loss):
            self.trace.mark("heldout.not_finite")
            return []
        self._heldout = (epoch, loss)
        self._beacon.hurry(now)
        return self._follow([HeldoutLearned(epoch, loss)], now)

    def offer_state(self, file: StateFile, ledger: bytes) -> None:
        """Others may have this state file from us."""
        self.donor.offer(file, ledger=ledger)
