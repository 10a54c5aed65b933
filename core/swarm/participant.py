"""A peer of a collaboration: the DHT node, progress, rounds of averaging, catching up, and its trainer's side.

It is a machine itself, made of machines.  The trainer is spoken to in orders (`core.swarm.words.orders`) and answers in
events (`core.swarm.words.answers`); in the real program the engine carries both between it and the worker process, in
the simulator a simulated worker answers.
"""

from collections.abc import Sequence
from operator import attrgetter
from random import Random
from typing import Any, ClassVar

from core.api.snapshot import VOLUNTEER
from core.averaging.matchmaking import Elsewhere, Silent
from core.base.ids import Contact, Observed
from core.base.machine import Composite, Lost, Machine, Received, Tick, Trace, earliest
from core.base.meter import Meter
from core.base.signing import Signer, Verifier
from core.base.wire import Message
from core.base.work import Collected, Evaluated, Progress
from core.dht.events import Found, Learned, RecordStored
from core.dht.messages import DHT_MESSAGES
from core.dht.node import DhtNode
from core.dht.settings import DhtSettings
from core.nat.events import ReachChanged
from core.nat.messages import NAT_MESSAGES
from core.nat.traversal import Traversal
from core.swarm.catching_up.catch_up import CatchUp
from core.swarm.catching_up.donor import PastMembers
from core.swarm.catching_up.fetch import Sinks
from core.swarm.catching_up.state_donor import StateDonor
from core.swarm.epoch.grouping import Grouping
from core.swarm.experts.records import QUOTAS
from core.swarm.presence.beacon import Beacon
from core.swarm.presence.line_news import SCHEMAS, LineNews
from core.swarm.presence.membership import Membership, heldout_news
from core.swarm.presentation import Presentation, Tells
from core.swarm.reach.connectivity import Connectivity, NetworkEvent
from core.swarm.rounds.rounds import Rounds
from core.swarm.standby import Standby
from core.swarm.trainer_side import TrainerSide
from core.swarm.view import ParticipantView
from core.swarm.words.answers import MeanOffered, StateOffered, TrainerAnswer, TrainerNews, TrainerReady
from core.swarm.words.epoch import Phase
from core.swarm.words.facts import CopyEvery, Help, Revoked, Seeds, StateKept, StateNotKept, WayBack
from core.swarm.words.messages import STATE_MESSAGES
from core.swarm.words.orders import Changed, HeldoutLearned
from core.swarm.words.outputs import Asked, CatchUpFailed, Committed, Formed, MeansFetched, Missed, Output, StateFetched
from core.swarm.words.progress import ProgressReport
from core.swarm.words.settings import ParticipantSettings
from core.swarm.words.states import StateName

MachineEvent = (
    Found
    | RecordStored
    | Asked
    | Formed
    | Missed
    | Committed
    | StateFetched
    | MeansFetched
    | CatchUpFailed
    | ReachChanged
)
"""What a participant's own machines report, and it acts on."""
Fact = CopyEvery | Help | Revoked | Seeds | StateKept | StateNotKept | WayBack
"""What its owner tells a participant."""
ParticipantEvent = Received[Any] | Tick | Lost | Observed | NetworkEvent | TrainerAnswer | Fact | MachineEvent


class Participant:
    """One peer's machine, which passes events between its parts: DHT, rounds, catching up, trainer.

    Args:
        settings: The collaboration's numbers, and this peer's role.
        signer: This peer's key.
        verifier: Checks others' signatures.
        random: All chance comes from here.
        sinks: Where downloaded states and means are put together.
        tells: Changes what this peer says of itself before it is published; for liars in tests.
    """

    MESSAGES: ClassVar[tuple[type[Message], ...]] = (*DHT_MESSAGES, *Rounds.MESSAGES, *STATE_MESSAGES, *NAT_MESSAGES)

    def __init__(
        self,
        *,
        settings: ParticipantSettings,
        signer: Signer,
        verifier: Verifier,
        random: Random,
        sinks: Sinks,
        tells: Tells = lambda report: report,
    ) -> None:
        self.settings, self.me = settings, signer.peer_id
        self.trace, self._tells = Trace(), tells
        self.dht = DhtNode(
            signer=signer,
            verifier=verifier,
            random=random,
            settings=DhtSettings(quotas=QUOTAS),
            trace=self.trace,
            validators=SCHEMAS,
        )
        self._connectivity: Connectivity | None = None
        if settings.relay is not None:
            self._connectivity = Connectivity(
                self.me, directory=self.dht, settings=settings, random=random, trace=self.trace
            )
        self.traversal: Traversal | None = None if self._connectivity is None else self._connectivity.traversal
        """Asks its owner for sockets; None: nobody has to be found through routers."""
        self.rounds = Rounds(
            settings,
            signer=signer,
            verifier=verifier,
            random=random,
            trace=self.trace,
            carried=None if self.traversal is None else self.traversal.circuits.take_carried,
        )
        self._membership = Membership(met=settings.met, earned=self.rounds.earned, backbone=settings.backbone)
        self._membership.patience = self.rounds.penalties.patience
        self.rounds.penalties.seen = self._membership.branches.admitted
        self._beacon = Beacon(me=self.me, run=settings.run, dht=self.dht, membership=self._membership, random=random)
        self.meter: Meter = self.rounds.lines.own.meter
        """To be shown how fast bulk moves."""
        self._line_news = LineNews(
            me=self.me,
            run=settings.run,
            dht=self.dht,
            book=self.rounds.lines,
            membership=self._membership,
            random=random,
        )
        self.donor = StateDonor(trace=self.trace, members=PastMembers())
        self._catch_up = CatchUp(
            membership=self._membership, donor=self.donor, sinks=sinks, random=random, trace=self.trace
        )
        self._standby = Standby(self._membership, rounds=self.rounds, catch_up=self._catch_up, settings=settings)
        self._grouping = Grouping(
            self.me, settings=settings, rounds=self.rounds, membership=self._membership, beacon=self._beacon
        )
        self._trainer = TrainerSide(
            settings,
            rounds=self.rounds,
            beacon=self._beacon,
            catch_up=self._catch_up,
            grouping=self._grouping,
            trace=self.trace,
        )
        self._presentation = Presentation(
            settings,
            trainer=self._trainer,
            standby=self._standby,
            rounds=self.rounds,
            membership=self._membership,
            catch_up=self._catch_up,
        )
        self._looks = frozenset[HeldoutLearned]()
        """Those of others at the held-out text, of which the owner knows."""
        machines: list[tuple[Machine[Any, Any], tuple[type, ...]]] = [
            (self.dht, DHT_MESSAGES),
            (self.rounds, Rounds.MESSAGES),
            (self.donor, StateDonor.MESSAGES),
            (self._catch_up, CatchUp.MESSAGES),
        ]
        if self._connectivity is not None:
            machines.append((self._connectivity, Connectivity.TAKES))
        self._machines = Composite[Any](machines)

    @property
    def deadline(self) -> float | None:
        """The earliest of all its parts' deadlines."""
        return earliest(
            self._machines.deadline,
            self._beacon.deadline,
            self._line_news.deadline,
            self._trainer.deadline,
            self._grouping.deadline,
        )

    def start(self, contacts: Sequence[Contact], *, host: str = "", port: int = 0, now: float) -> Sequence[Output]:
        """Join the swarm through `contacts`; others reach this peer at host and port (empty: they observe it)."""
        self._presentation.address = (host, port)
        self._beacon.start(now, follows=self.settings.role != VOLUNTEER)
        self._line_news.start(now)
        return self._follow([*self.dht.bootstrap(list(contacts), now), *self._beat(now)], now)

    def handle(self, event: ParticipantEvent, now: float) -> Sequence[Output]:
        """Advance by one event: from the network, from the trainer, from the owner, or from one of its machines."""
        outputs: Sequence[Output] = ()
        match event:
            case Tick():
                outputs = [*self._machines.handle(event, now), *self._beat(now)]
            case Lost(peer=peer):
                self._membership.lost(peer, now)
                outputs = self._machines.handle(event, now)
            case Observed(peer=peer):
                self._membership.branches.verified(peer)
                outputs = [*self._machines.handle(event, now), *self.dht.handle(event, now)]
            case StateOffered(file=file) | MeanOffered(file=file):
                self.donor.offer(file, mean=isinstance(event, MeanOffered))
            case _ if isinstance(event, Fact):
                outputs = self._told(event, now)
            case _ if isinstance(event, TrainerAnswer):
                outputs = self._answered(event, now)
            case _ if isinstance(event, Received | NetworkEvent):
                outputs = self._machines.handle(event, now)
            case _:
                outputs = (event,)
        return self._follow(outputs, now)

    def _answered(self, answer: TrainerNews, now: float) -> Sequence[Output]:
        match answer:
            case Progress() | Collected() | Evaluated():
                return self._trainer.answered(answer, now)
            case TrainerReady():
                return [*self._standby.end(), *self._trainer.answered(answer, now), *self._beat(now)]
        return [*self._trainer.answered(answer, now), *self._beat(now)]

    # --- what others see ---------------------------------------------------------------------------------------------

    def report(self, now: float) -> ProgressReport:
        """What this peer says of itself to the others."""
        return self._tells(self._presentation.report(now))

    def view(self, now: float) -> ParticipantView:
        """What people may see of it."""
        return self._presentation.view(now)

    # --- inside ------------------------------------------------------------------------------------------------------

    def _beat(self, now: float) -> list[Output]:
        """Publish, read, and do what the clock asks for."""
        outputs: list[Output] = [*self._beacon.tick(self.report(now), now), *self._line_news.tick(now)]
        outputs += self._trainer.hung(now)
        if self._grouping.due(now) or self._catch_up.due(now) or self._trainer.arrival.late(now):
            outputs += self._consider(now)
        return outputs

    def _follow(self, outputs: Sequence[Output], now: float) -> list[Output]:
        """Act on the events of our own machines; everything else goes on to the owner."""
        done: list[Output] = []
        queue = list(outputs)
        while queue:
            output = queue.pop(0)
            followed = self._react(output, now)
            if followed is None:
                done.append(output)
            else:
                queue = [*followed, *queue]
        return done

    def _react(self, output: Output, now: float) -> Sequence[Output] | None:
        """What one of our own events leads to; None: it is not ours to handle."""
        match output:
            case Found():
                return self._read(output, now)
            case Silent(peers=peers):
                for peer in peers:
                    self._membership.lost(peer, now)
                return []
            case Elsewhere(epoch=epoch, lineage=lineage):
                self.rounds.in_doubt.heard(StateName(epoch, lineage))
                self._beacon.look(now)
                return []
            case Formed() | Missed() | Committed():
                return self._averaged(output, now)
            case Asked() | StateFetched() | MeansFetched() | CatchUpFailed():
                return (self._standby.keeper if self.settings.keeps else self._trainer).followed(output, now)
            case RecordStored():
                return [] if self._connectivity is None else self._connectivity.stored(output)
            case ReachChanged(reach=reach):  # what passes through relays only is not worth a share to reduce
                self.rounds.reduces = not reach.client
        return None

    def _read(self, found: Found, now: float) -> Sequence[Output] | None:
        """What a read brought; None: the key is not ours but our owner's."""
        if self._line_news.found(found, trace=self.trace):
            return []
        news = self._beacon.found(found, trace=self.trace, now=now)
        if news is None:
            return None if self._connectivity is None else self._connectivity.found(found, now)
        outputs: list[Output] = [Changed()]
        for peer, report in news.items():
            self.rounds.in_doubt.heard(report.state)
            if report.host and report.port:
                outputs.append(Learned(Contact(peer, report.host, report.port)))
        known = (self.rounds.heldout[1], self._trainer.contributing.pending.loss or None)
        shown = self._presentation
        looks = heldout_news(shown.peers.values(), known=known, epoch_max=shown.stood.epoch)
        outputs += sorted(looks - self._looks, key=attrgetter("epoch", "loss"))
        self._looks = looks
        self._trainer.arrival.answered(news=bool(news))
        return [*outputs, *self._consider(now)]

    def _consider(self, now: float) -> list[Output]:
        """With what is known now, do what this peer is here for."""
        rests = self._trainer.epochs.phase is Phase.IDLE
        return self._standby.consider(now, held=self._trainer.epochs.state) if rests else self._trainer.consider(now)

    def _averaged(self, event: Formed | Missed | Committed, now: float) -> list[Output]:
        """A round, or the search for its group, has begun or ended."""
        if isinstance(event, Committed) or (isinstance(event, Missed) and event.samples is None):
            self._line_news.changed(now)  # a round that failed has taught something as well
        if isinstance(event, Committed):
            self._membership.branches.committed(event.before, event.record)
            self.donor.members.met(peer for peer, samples in event.record.credited if samples and peer != self.me)
        return self._standby.followed(event, now) if self._standby.helping else self._trainer.followed(event, now)

    def _told(self, fact: Fact, now: float) -> Sequence[Output]:
        """Do what follows from what the owner has told."""
        match fact:
            case Revoked(peers=peers, held=held):
                self._membership.revoked = peers | (held - {self._membership.backbone})
                return []
            case Seeds(contacts=contacts):
                return self.dht.bootstrap(contacts, now)
        assert isinstance(fact, WayBack) or self._trainer.epochs.phase is Phase.IDLE, "a trainer gives its own states"
        self._beacon.hurry(now)
        return [*self._standby.told(fact, now), *self._consider(now), *self._beat(now)]
