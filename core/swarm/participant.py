"""A peer of a collaboration: the DHT node, progress, the epoch machine, averaging and catching up.

It is a machine itself.  The trainer is spoken to in orders (`core.swarm.orders`) and answers by method calls; in the
real program the engine carries them to the worker process, in the simulator a pretended worker answers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.averaging.codecs import ADAPTIVE, FEEDBACK
from core.averaging.events import Elsewhere, Silent
from core.averaging.feedback import ResidualStore
from core.averaging.groups.iterations import STAGES_MAX
from core.base.compose import Composite
from core.base.ids import distance, hashed_key, node_key
from core.base.machine import Lost, Received, Tick, earliest
from core.base.manifest import AveragingNumbers
from core.base.signing import Signer, Verifier
from core.base.trace import Trace
from core.dht.events import Found, Learned
from core.dht.messages import DHT_MESSAGES, Contact, Observed
from core.dht.node import DhtNode
from core.dht.settings import DhtSettings
from core.swarm.assisting import Assisting
from core.swarm.beacon import Beacon
from core.swarm.catch_up import Fetched, FetchFailed, Fetching, StateFetch, StateSink
from core.swarm.donor import StateDonor, StateFile
from core.swarm.doubts import Doubts
from core.swarm.epoch import IN_STEP, Cue, EpochMachine, Phase
from core.swarm.line_news import SCHEMAS, LineNews
from core.swarm.membership import GOES_ON_S, Membership, Offer
from core.swarm.messages import ChunkAsk, ChunkGive, StateAsk, StateDenied, StateOffer
from core.swarm.orders import (
    Absorb,
    Changed,
    Collect,
    Evaluate,
    Go,
    HeldoutLearned,
    Hold,
    LedgerLearned,
    Load,
    Release,
    Restart,
    RoundLost,
)
from core.swarm.progress import NAME_CHARACTERS_MAX, Report
from core.swarm.pursuit import Pursuit
from core.swarm.rounds import Asked, Committed, Formed, Missed, Rounds
from core.swarm.standby import Standby
from core.swarm.states import State, StateName
from core.swarm.stragglers import Stragglers
from core.swarm.watch import Watch

HELPING = "helping"
"""The activity of a helper, as it reports it."""
HELPER_REST_S = 30.0
HELPER_REST_MAX_S = 1800.0
"""A helper whose share somebody else had to reduce is not called for a while, each time twice as long."""
INFORMED_AFTER_S = 5.0
SHORT_REST_MAX_S = 10.0
"""A group that had too few samples is not tried again before they can have been made up for, or for this long."""
SOON_S = 2.0
"""When the target will be reached within this time, the moment is waited for rather than the next report."""
SOON_LEAST_S = 0.05
DEADLY = 4
"""A state during whose loading the trainer went counts as so many failures in a row to fetch it."""
FALSE = 8
"""A state that is not what it was called counts as so many."""
STATE_SLACK_BYTES = 64 * 1024
"""All states of a collaboration have the same size, but for their names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParticipantSettings:
    """What a participant is told at birth."""

    run: bytes
    """The manifest's id."""
    target_samples: int
    averaging: AveragingNumbers
    evaluate_every: int
    role: str
    """"volunteer" or "backbone"."""
    name: str
    evaluate_first: bool = False
    """Look at the held-out text as soon as the trainer is ready."""
    last_epoch: int | None = None
    """Take no part in epochs beyond this one."""


@dataclass(slots=True)
class _Pending:
    """What the trainer has accumulated for the next step."""

    samples: int = 0
    ahead: int = 0
    """What came after the contribution to the round that is on, for the step after; given back if the round fails."""
    samples_per_s: float = 0.0
    loss: float = 0.0
    at: float = 0.0
    """When it said so; it has gone on since."""

    def by_now(self, now: float) -> float:
        """How many it will have by now."""
        return self.samples + self.samples_per_s * min(max(0.0, now - self.at), GOES_ON_S)


class Participant:
    """See the module's docstring.

    Args:
        me: This peer, and who signs for it.
        random: All chance comes from here.
        sink: Where a downloaded state is put together.
    """

    def __init__(
        self, *, settings: ParticipantSettings, signer: Signer, verifier: Verifier, random: Random, sink: StateSink
    ) -> None:
        self.settings = settings
        self.me = signer.peer_id
        self.trace = Trace()
        self.membership = Membership()
        self.epochs = EpochMachine()
        self.pending = _Pending()
        self.fetching: Fetching | None = None
        self.dht = DhtNode(
            signer=signer,
            verifier=verifier,
            random=random,
            settings=DhtSettings(),
            trace=self.trace,
            validators=SCHEMAS,
        )
        self._beacon = Beacon(me=self.me, run=settings.run, dht=self.dht, membership=self.membership, random=random)
        self.rounds = Rounds(
            signer=signer,
            verifier=verifier,
            run=settings.run,
            averaging=settings.averaging,
            minimum=settings.target_samples,
            random=random,
            trace=self.trace,
        )
        self.standby = Standby(self.membership)
        self._helpers = Doubts(first_s=HELPER_REST_S, longest_s=HELPER_REST_MAX_S, random=random)
        self._line_news = LineNews(
            me=self.me,
            run=settings.run,
            dht=self.dht,
            book=self.rounds.lines,
            membership=self.membership,
            random=random,
        )
        self.donor = StateDonor(trace=self.trace)
        self._fetch = StateFetch(sink=sink, trace=self.trace)
        self._pursuit = Pursuit(self.membership, random)
        self._watch = Watch(round_s=STAGES_MAX * settings.averaging.round_timeout_s)
        self.assisting = Assisting()
        self._stragglers = Stragglers(patience_s=settings.averaging.gather_timeout_s)
        self._parts = Composite(
            {
                "dht": (self.dht, DHT_MESSAGES),
                "rounds": (self.rounds, Rounds.MESSAGES),
                "donor": (self.donor, (StateAsk, ChunkAsk)),
                "fetch": (self._fetch, (StateOffer, StateDenied, ChunkGive)),
            }
        )
        self._joined_at: float | None = None
        self._heldout: tuple[int, float | None] = (0, None)
        self._address = ("", 0)
        self._collecting = b""
        self._enough_at = 0.0
        self._short = False
        """A group of this state had too few samples: from now on only reports count, and their coming is waited for."""
        self._full_at: float | None = None
        """When the target batch will be reached, if that is soon."""

    # --- the machine -------------------------------------------------------------------------------------------------

    def start(self, contacts: Sequence[Contact], *, host: str = "", port: int = 0, now: float) -> Sequence[Any]:
        """Join the swarm through `contacts`; others reach this peer at host and port (empty: they observe it)."""
        self._address = (host, port)
        self._beacon.start(now)
        self._line_news.start(now)
        return self._follow([*self.dht.bootstrap(list(contacts), now), *self._beat(now)], now)

    @property
    def deadline(self) -> float | None:
        """The earliest of all its parts' deadlines."""
        joining = None
        if self.epochs.phase is Phase.JOINING and self._joined_at is not None:
            joining = self._joined_at + INFORMED_AFTER_S
        return earliest(
            self._parts.deadline,
            self._beacon.deadline,
            self._line_news.deadline,
            self._watch.deadline,
            self._pursuit.retry_at,
            self._full_at,
            joining,
        )

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

    def _stand_by(self, now: float) -> list[Any]:
        """Stand where the others stand; a call that is being followed goes before what reports say."""
        if self.rounds.busy:
            return []
        name = self.standby.look(now)
        if name is None or not self.rounds.reduces:
            return list(self.rounds.away(now))
        return list(self.rounds.position(name, self.membership.in_step(name), full=False, now=now))

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
        self.pending = _Pending()
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
        self.pending = _Pending()
        self._fetch.stop()
        self.fetching = None
        self._beacon.hurry(now)
        return self._follow([*self.rounds.away(now), Changed(), *self._beat(now)], now)

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
        pending = self.pending = _Pending(samples, 0, samples_per_s, loss, now)
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

    # --- what follows ------------------------------------------------------------------------------------------------

    def _settled(self, now: float, *, samples: int = 0) -> Sequence[Any]:
        """A new state is in place: begin the next epoch, with what counts for it already, or end."""
        self.pending = _Pending(samples, 0, self.pending.samples_per_s, self.pending.loss, now)
        self._enough_at = 0.0
        self._short = False
        self._beacon.hurry(now)
        outputs: list[Any] = [Changed()]
        if self._is_evaluator():
            outputs.append(Evaluate())
        return self._follow([*outputs, *self._carry_on(now), *self._beat(now)], now)

    def _carry_on(self, now: float) -> list[Any]:
        state = self._state()
        if self.settings.last_epoch is not None and state.name.epoch >= self.settings.last_epoch:
            self.epochs.advance(Cue.ENDED)
            return [Hold()]
        return [Hold() if self.assisting.active else Go(), *self._consider(now)]

    def _beat(self, now: float) -> list[Any]:
        """Publish, read, and do what the clock asks for."""
        outputs: list[Any] = [*self._beacon.tick(self._report(now), now), *self._line_news.tick(now)]
        if self._watch.overdue(now):
            self.trace.mark(f"trainer.hangs.{self.epochs.phase.value}")
            outputs.append(Restart())
        expected = self._full_at is not None and now >= self._full_at
        if expected:
            self._full_at = None
        if expected or self._pursuit.due(now):
            outputs += self._consider(now)
        late = self._joined_at is not None and now >= self._joined_at + INFORMED_AFTER_S
        if self.epochs.phase is Phase.JOINING and late:
            outputs += self._informed(now)
        return outputs

    def _follow(self, outputs: Sequence[Any], now: float) -> list[Any]:
        """Act on the events of our own parts; everything else goes on to the owner."""
        done: list[Any] = []
        queue = list(outputs)
        while queue:
            output = queue.pop(0)
            followed = self._react(output, now)
            if followed is None:
                done.append(output)
            else:
                queue = [*followed, *queue]
        self._watch.saw(self.epochs.phase, now)
        return done

    def _react(self, output: Any, now: float) -> list[Any] | None:
        """What one of our own events leads to; None: it is not ours to handle."""
        match output:
            case Found():
                return self._read(output, now)
            case Asked(round=round_id):
                return self._asked(round_id, now)
            case Formed():
                return self._formed(now)
            case Missed():
                return self._missed(output, now)
            case Committed():
                return self._committed(output, now)
            case Silent(peers=peers):
                for peer in peers:
                    self.membership.lost(peer, now)
                return []
            case Elsewhere():
                self._beacon.hurry(now)
                return []
            case Fetching() | Fetched() | FetchFailed():
                return self._catch_up(output, now)
        return None

    def _catch_up(self, news: Fetching | Fetched | FetchFailed, now: float) -> list[Any]:
        match news:
            case Fetching():
                self.fetching = news
                return [Changed()]
            case Fetched():
                return self._fetched(news)
            case FetchFailed():
                return self._fetch_failed(now)

    def _read(self, found: Found, now: float) -> list[Any] | None:
        """What a read brought; None: the key is not ours but our owner's."""
        if self._line_news.found(found, trace=self.trace):
            return []
        news = self._beacon.found(found, trace=self.trace, now=now)
        if news is None:
            return None
        outputs: list[Any] = [Changed()]
        for peer, report in news.items():
            if report.host and report.port:
                outputs.append(Learned(Contact(peer, report.host, report.port)))
            if report.heldout_loss is not None and report.heldout_epoch <= report.epoch:
                outputs.append(HeldoutLearned(report.heldout_epoch, report.heldout_loss))
        if self.epochs.phase is Phase.JOINING:
            return [*outputs, *(self._informed(now) if news else [])]
        return [*outputs, *self._consider(now)]

    def _informed(self, now: float) -> list[Any]:
        self.epochs.advance(Cue.INFORMED)
        return [Changed(), *self._carry_on(now)]

    def _consider(self, now: float) -> list[Any]:
        """With what is known now: catch up, form a group, or go on."""
        if self.standby.helping:
            return self._stand_by(now)
        if self.epochs.state is None:
            return []
        mine = self.epochs.state.name
        if self.epochs.may(Cue.BEHIND):
            offer = self._pursuit.best(mine, now)
            if offer is not None:
                return self._fall_behind(offer, now)
            if self._pursuit.resting(now) and self.membership.most_are_ahead(mine):
                return []
        if self.epochs.phase not in IN_STEP:
            return list(self.rounds.away(now))
        candidates = [*self.membership.in_step(mine), self.me]
        goes_on_s = 0.0 if self._short else GOES_ON_S
        total = int(self.membership.samples(mine, now, goes_on_s=goes_on_s) + self.pending.by_now(now))
        others = self.membership.samples_per_s(mine, now)
        if self.epochs.phase is Phase.TRAINING and self.assisting.alone(others=others > 0, now=now):
            return [Changed(), Go()]
        speed = others + self._speed
        left = max(self.settings.target_samples - total, 0)
        eta_s = max(left / speed, self._enough_at - now) if speed > 0 else None
        self._beacon.pace(eta_s, now)
        soon = eta_s is not None and 0 < eta_s <= SOON_S and self.epochs.phase is Phase.TRAINING and not self._short
        self._full_at = now + max(eta_s or 0.0, SOON_LEAST_S) if soon else None
        full = self.epochs.phase is Phase.TRAINING and left == 0 and now >= self._enough_at
        full = full and not self._stragglers.awaits(mine, self.membership, now)
        helpers = [peer for peer in self.membership.helpers(now) if not self._helpers.resting(peer, now)]
        return list(self.rounds.position(mine, candidates, full=full, now=now, helpers=helpers))

    def _fall_behind(self, offer: Offer, now: float) -> list[Any]:
        donors = self._pursuit.begin(offer)
        self.epochs.advance(Cue.BEHIND)
        size_max = None if self.donor.size_bytes is None else self.donor.size_bytes + STATE_SLACK_BYTES
        asks = self._fetch.fetch(offer.name, offer.digest, donors, now, size_max=size_max)
        return [*self.rounds.away(now), Hold(), Changed(), *asks]

    def _fetched(self, fetched: Fetched) -> list[Any]:
        self.fetching = None
        self.epochs.advance(Cue.FETCHED)
        return [LedgerLearned(fetched.ledger, fetched.name.epoch), Load(fetched.location, fetched.name)]

    def _fetch_failed(self, now: float) -> list[Any]:
        self.trace.mark("state.fetch.failed")
        self.fetching = None
        self.epochs.advance(Cue.FAILED)
        self._pursuit.doubt(now)
        self._beacon.hurry(now)
        return [Changed(), *self._carry_on(now)]

    def _asked(self, round_id: bytes, now: float) -> list[Any]:
        if not self.epochs.may(Cue.WANTED):
            return list(self.rounds.away(now))
        self.epochs.advance(Cue.WANTED)
        self._watch.collecting(now)
        self._collecting = round_id
        return [Changed(), Collect(round_id)]

    def _formed(self, now: float) -> list[Any]:
        if self.standby.helping:
            return [Changed()]
        if not self.epochs.may(Cue.PLANNED):
            return list(self.rounds.leave(now))
        self.epochs.advance(Cue.PLANNED)
        return [Changed()]

    def _missed(self, missed: Missed, now: float) -> list[Any]:
        if self.standby.helping:
            return [Changed(), *self._stand_by(now)]
        if not self.epochs.may(Cue.FAILED) or self.epochs.phase is Phase.FETCHING:
            return []
        if missed.samples is not None and self.epochs.state is not None:
            speed = self.membership.samples_per_s(self.epochs.state.name, now) + self.pending.samples_per_s
            lacking = max(self.settings.target_samples - missed.samples, 0)
            self._short = True
            self._enough_at = now + min(lacking / max(speed, 1e-9), SHORT_REST_MAX_S)
        self.epochs.advance(Cue.FAILED)
        self.pending.samples, self.pending.ahead = self.pending.samples + self.pending.ahead, 0
        self._beacon.hurry(now)
        return [RoundLost(missed.reason), Release(self._collecting), *self._consider(now)]

    def _committed(self, committed: Committed, now: float) -> list[Any]:
        self._line_news.changed(now)
        record = committed.record
        for peer in committed.helped:
            self._helpers.cleared(peer)
        for peer in committed.stalled:
            self._helpers.failed(peer, now)
        if self.standby.helping:
            self.standby.committed(record.name, now)
            return [record, Changed(), *self._stand_by(now)]
        if not self.epochs.may(Cue.COMMITTED):
            return [record]
        self.epochs.advance(Cue.COMMITTED)
        self.assisting.ended(samples=self.pending.samples, gives=committed.gives)
        if self.settings.averaging.overlaps:
            self.pending.samples, self.pending.ahead = self.pending.ahead, 0
            self._stragglers.committed(record, besides=self.me)
        return [record, Absorb(self._collecting, record.name)]

    # --- what others see ---------------------------------------------------------------------------------------------

    def _report(self, now: float) -> Report:
        state = self.epochs.state
        first = StateName(0, self.settings.run)
        name = state.name if state is not None else self.standby.name or first
        helps = self.standby.helping and self.rounds.reduces
        epoch, loss = self._heldout
        return Report(
            role=self.settings.role,
            name=self.settings.name[:NAME_CHARACTERS_MAX],
            activity=HELPING if helps else self.epochs.phase.value,
            host=self._address[0],
            port=self._address[1],
            epoch=name.epoch,
            lineage=name.lineage,
            digest=state.digest if state is not None else b"",
            in_step=self.epochs.phase in IN_STEP,
            samples=self.pending.samples,
            samples_per_s=self._speed,
            time=now,
            heldout_epoch=epoch,
            heldout_loss=loss,
            helps=helps,
        )

    @property
    def _speed(self) -> float:
        """Samples a second that others may count on."""
        return 0.0 if self.assisting.active else self.pending.samples_per_s

    def _state(self) -> State:
        assert self.epochs.state is not None
        return self.epochs.state

    def _is_evaluator(self) -> bool:
        """Whether it is this peer's turn: among those in step, the nearest to the epoch's point of the key space."""
        name = self._state().name
        if name.epoch % self.settings.evaluate_every:
            return False
        point = hashed_key(b"evaluate", name.lineage)
        peers = [peer for peer, report in self.membership.live().items() if report.in_step]
        return min([*peers, self.me], key=lambda peer: distance(node_key(peer), point)) == self.me
