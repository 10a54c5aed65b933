"""The machines that a participant is made of, and what it reports of itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from core.averaging.grid.stages import STAGES_MAX
from core.base.compose import Composite
from core.base.ids import distance, hashed_key, node_key
from core.base.machine import earliest
from core.base.meter import Meter
from core.base.signing import Signer, Verifier
from core.base.trace import Trace
from core.dht.messages import DHT_MESSAGES, Contact
from core.dht.node import DhtNode
from core.dht.settings import DhtSettings
from core.swarm.assisting import Assisting
from core.swarm.beacon import Beacon
from core.swarm.donor import StateDonor
from core.swarm.epoch import IN_STEP, EpochMachine, Phase
from core.swarm.fetch import Fetching, StateFetch, StateSink
from core.swarm.line_news import SCHEMAS, LineNews
from core.swarm.membership import GOES_ON_S, Membership
from core.swarm.messages import ChunkAsk, ChunkGive, StateAsk, StateDenied, StateDone, StateOffer
from core.swarm.progress import NAME_CHARACTERS_MAX, ProgressReport
from core.swarm.pursuit import Pursuit
from core.swarm.rounds import Rounds
from core.swarm.settings import ParticipantSettings
from core.swarm.standby import Standby
from core.swarm.states import State, StateName
from core.swarm.stragglers import Stragglers
from core.swarm.view import ParticipantView
from core.swarm.watch import TrainerWatch

HELPING = "helping"
"""The activity of a helper, as it reports it."""
INFORMED_AFTER_S = 5.0
Tells = Callable[[ProgressReport], ProgressReport]
"""Changes what a peer says of itself before it is published; for liars in tests."""


@dataclass(slots=True)
class Pending:
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


class ParticipantParts:
    """All of them, before anything happens.

    Args:
        me: This peer, and who signs for it.
        random: All chance comes from here.
        sink: Where a downloaded state is put together.
        tells: Changes what this peer says of itself before it is published; for liars in tests.
    """

    def __init__(
        self,
        *,
        settings: ParticipantSettings,
        signer: Signer,
        verifier: Verifier,
        random: Random,
        sink: StateSink,
        tells: Tells = lambda report: report,
    ) -> None:
        self.settings = settings
        self._tells = tells
        self.me = signer.peer_id
        self.trace = Trace()
        self.membership = Membership()
        self.epochs = EpochMachine()
        self.pending = Pending()
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
        self.meter: Meter = self.rounds.lines.meter
        """To be shown how fast bulk moves."""
        self.standby = Standby(self.membership)
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
        self._watch = TrainerWatch(round_s=STAGES_MAX * settings.averaging.round_timeout_s)
        self.assisting = Assisting()
        self._stragglers = Stragglers(patience_s=settings.averaging.gather_timeout_s)
        self._parts = Composite(
            {
                "dht": (self.dht, DHT_MESSAGES),
                "rounds": (self.rounds, Rounds.MESSAGES),
                "donor": (self.donor, (StateAsk, ChunkAsk, StateDone)),
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

    # --- what others see ---------------------------------------------------------------------------------------------

    @property
    def contacts(self) -> Sequence[Contact]:
        """Peers that answer in the DHT, the most useful first."""
        return self.dht.contacts

    def view(self, now: float) -> ParticipantView:
        """What people may see of it."""
        name = self.epochs.state.name if self.epochs.state is not None else self.standby.name
        live = self.membership.live()
        return ParticipantView(
            settings=self.settings,
            phase=self.epochs.phase,
            state=name,
            assists=self.assisting.active,
            fetching=self.fetching,
            samples=self.pending.samples,
            samples_per_s=self.pending.samples_per_s,
            others_samples=self.membership.samples(name, now) if name is not None else 0,
            others_samples_per_s=self.membership.samples_per_s(name, now) if name is not None else 0.0,
            peers=live,
            silent=frozenset(peer for peer in live if self.membership.silent(peer, now)),
            audible=self.membership.audible(now),
            line=self.rounds.lines.measured,
            trip_s=self.rounds.lines.trip_s,
        )

    def report(self, now: float) -> ProgressReport:
        """What this peer says of itself to the others."""
        return self._tells(self._report(now))

    def _report(self, now: float) -> ProgressReport:
        state = self.epochs.state
        first = StateName(0, self.settings.run)
        name = state.name if state is not None else self.standby.name or first
        helps = self.standby.helping and self.rounds.reduces
        epoch, loss = self._heldout
        return ProgressReport(
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
