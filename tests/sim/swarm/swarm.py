"""A whole collaboration in the simulated world: a backbone, volunteers that come and go, and what goes wrong."""

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from core.api.snapshot import BACKBONE
from core.averaging.plan import Plan
from core.base.content import digest
from core.base.ids import Contact, PeerId
from core.base.manifest import AveragingNumbers
from core.base.wire import MessageCodec
from core.base.work import Collect
from core.nat.relay import RelaySettings
from core.swarm.participant import Participant
from core.swarm.standby import HELP_BYTES
from core.swarm.view import ParticipantView
from core.swarm.words import orders
from core.swarm.words.answers import StateOffered
from core.swarm.words.facts import Help, StateNotKept
from core.swarm.words.settings import ParticipantSettings
from core.swarm.words.states import StateName, first_state
from tests.sim.checkers import Checker
from tests.sim.churn import Churn
from tests.sim.swarm.disk import Disk
from tests.sim.swarm.false_means import EVERY_LIE
from tests.sim.swarm.liars import LIES, TWO_COMMITS, Lie
from tests.sim.swarm.settings import SwarmSettings
from tests.sim.swarm.worker import FakeWorker, WorkerSeat
from tests.sim.swarm.worker_settings import WorkerSettings
from tests.sim.world.datagrams import PORT
from tests.sim.world.links import log_uniform
from tests.sim.world.node import End, Node
from tests.sim.world.signing import SimSigner, SimVerifier
from tests.sim.world.world import World

ROOMS = (0.5, 1.0, 4.0)
"""Memory of a helper, as a part of what the whole vector needs: some have too little, and decline every call."""
HONEST = Lie()
AIMED_S = 1.5
"""Upper bound on the time from a plan to a partition that is aimed at its round: as long as a round takes."""
LOOK_S = 0.02
"""How often it is looked whether the plan is there."""
LEADERS = 0.5
"""How often it is the leader of a round that goes, and not the member that was asked for its contribution."""
TORN_S = AveragingNumbers().round_timeout_s
"""How long a partition lasts that is aimed at a round."""
PARTITION_S = 25.0
"""Mean time that any other partition lasts."""
AIM_REST_S = 15.0
"""Between two faults that are aimed at rounds: each peer that goes takes its samples with it."""


class Volunteer:
    """A computer of the collaboration: what stays of it, and its engine and worker while it is up."""

    def __init__(self, swarm: "Swarm", number: int, *, role: str, lie: Lie = HONEST) -> None:
        self._swarm = swarm
        self._random = swarm.world.chance(f"volunteer {number}")
        self._role, self.lie, self.number = role, lie, number
        self.signer = SimSigner.numbered(swarm.world.seed, number)
        self.peer = self.signer.peer_id
        self.speed = log_uniform(self._random, *swarm.settings.speeds) if role == "volunteer" else 0.0
        """Samples a second; 0: it has no trainer."""
        self.disk = Disk()
        self.node: Node | None = None
        self.participant: Participant | None = None
        self.worker: FakeWorker | None = None
        self.skew_s = self._random.uniform(-1, 1) * swarm.settings.skew_s

    @property
    def splits(self) -> bool:
        """Whether it is a liar that commits two things as a leader."""
        return self.lie is LIES[TWO_COMMITS]

    @property
    def training(self) -> bool:
        """Whether it is up, not frozen, and has a worker that is ready."""
        node, worker = self.node, self.worker
        here = node is not None and node.up and node.frozen_until <= self._swarm.world.now
        return here and worker is not None and worker.ready

    def view(self) -> ParticipantView | None:
        """What people may see of its participant; None before it was switched on."""
        node, participant = self.node, self.participant
        return None if node is None or participant is None else participant.view(node.local(self._swarm.world.now))

    def begin(self) -> None:
        """Switch the computer of the volunteer on."""
        swarm, settings, world = self._swarm, self._swarm.settings, self._swarm.world
        desk = None if self._role == BACKBONE else swarm.backbone.view()
        told = () if desk is None else desk.earned
        self.participant = Participant(
            settings=ParticipantSettings(
                run=swarm.run,
                target_samples=swarm.target_samples,
                averaging=settings.averaging,
                evaluate_every=3,
                role=self._role,
                evaluate_first=self._role == "volunteer",
                met=(*told, *self.disk.met),
                keeps=settings.copies and self._role == BACKBONE,
                backbone=swarm.backbone.peer if self._role != BACKBONE else None,
                last_epoch=settings.epochs if settings.ends else None,
                relay=RelaySettings() if settings.relays else None,
            ),
            signer=self.signer,
            verifier=SimVerifier(),
            random=Random(self._random.getrandbits(64)),
            sinks=self.disk.sinks,
            tells=self.lie.tells,
        )
        machine = self.lie.dresses(self.participant, self._random)
        node = self.node = world.add(self.peer, machine, on_event=self._on_event, skew_s=self.skew_s)
        if settings.measured:
            world.driver.measure(node, self.participant.meter)
        self.participant.rounds.failures.value = settings.failure_rate
        contacts = [contact for contact in swarm.contacts if contact.peer != self.peer]
        node.known.update(contact.peer_id for contact in contacts)
        host = node.host if settings.told_hosts else ""
        world.driver.perform(node, self.participant.start(contacts, host=host, port=PORT, now=node.local(world.now)))
        if swarm.settings.helpers and self.speed == 0:
            room_bytes = int(self._random.choice(ROOMS) * HELP_BYTES * settings.parameters)
            world.driver.perform(node, self.participant.handle(Help(room_bytes), node.local(world.now)))
        if self._role == BACKBONE:
            for kept in self.disk.copies(swarm.volunteers):
                world.driver.perform(node, self.participant.handle(kept, node.local(world.now)))
        if self.lie.gives is not None:
            world.driver.perform(node, machine.handle(StateOffered(self.lie.gives), node.local(world.now)))
        elif self._role == "volunteer":
            self._begin_worker(node)
            if settings.freeze_s is not None and not swarm.calm:
                delay_s = self._random.expovariate(1 / settings.freeze_s)
                world.agenda.after(delay_s, self._freeze, node)

    def end(self, how: End) -> None:
        """It goes; sometimes its disk with it."""
        self._swarm.world.stop(self.peer, how)
        self.worker = None
        if self._random.random() < self._swarm.settings.blank:
            self.disk = Disk()

    def _begin_worker(self, node: Node) -> None:
        world, settings = self._swarm.world, self._swarm.settings
        seat = WorkerSeat(
            peer=self.peer,
            answer=node.machine.handle,
            later=lambda delay_s, action: world.driver.when(node, delay_s, action),
            tell=lambda news: world.checkers.said(node, news, world.now),
        )
        worker = self.worker = FakeWorker(
            seat,
            disk=self.disk,
            speed=self.speed,
            settings=self._swarm.worker_settings,
            random=Random(self._random.getrandbits(64)),
        )
        worker.start(self._random.uniform(0.5, 4.0))
        if settings.pause_s is not None and not self._swarm.calm:
            world.driver.when(
                node, self._random.expovariate(1 / settings.pause_s), lambda now: self._pause(worker, now)
            )

    def _pause(self, worker: FakeWorker, now: float) -> Sequence[Any]:
        """The person pauses, or the worker's process ends; a while later there is a new one."""
        gone = worker is not self.worker or self._swarm.calm
        return () if gone else self.lose_worker(now, back_s=self._random.expovariate(1 / 10.0))

    def lose_worker(self, now: float, *, back_s: float) -> Sequence[Any]:
        """Its worker's process ends, and after `back_s` another one begins; returns what its participant says."""
        node, worker = self.node, self.worker
        if node is None or worker is None:
            return ()
        self.worker = None

        def again(_: float) -> Sequence[Any]:
            self._begin_worker(node)
            return ()

        self._swarm.world.driver.when(node, back_s, again)
        return worker.kill(now)

    def _freeze(self, node: Node) -> None:
        if node.up and not self._swarm.calm:
            self._swarm.world.freeze(self.peer, self._random.expovariate(1 / self._random.choice([1.0, 5.0, 20.0])))

    def _on_event(self, event: Any, now: float) -> Sequence[Any]:
        if isinstance(event, orders.Keep) and self.participant is not None:
            whole = self.disk.keep_copy(event, like=self._swarm.worker_settings.first_state())
            facts = self.disk.copies(self._swarm.volunteers) if whole else [StateNotKept(lied=True)]
            return [output for fact in facts for output in self.participant.handle(fact, now)]
        if isinstance(event, Collect):
            self._swarm.aim(self.peer)
        self.disk.journal(event)
        if self.worker is not None and isinstance(event, orders.TrainerOrder):
            self.worker.order(event)
        return ()


class Swarm:
    """The simulated collaboration of one seed.

    Args:
        settings: Parameters of the world.
        checkers: Observe it; they may be given `swarm` afterwards.
    """

    def __init__(self, seed: int, settings: SwarmSettings, checkers: Sequence[Checker] = ()) -> None:
        self.settings = settings
        self.world = World(
            seed, MessageCodec(Participant.MESSAGES), links=settings.links, checkers=checkers, addresses_known=False
        )
        self.run = digest(b"run %d" % seed)
        self.worker_settings = WorkerSettings.of(settings, seed=seed, first=first_state(self.run))
        self.calm = False
        """Nothing goes wrong any more: churn, pauses and partitions have ended."""
        self.backbone = Volunteer(self, 0, role=BACKBONE)
        trainers = settings.peers - settings.helpers
        roles = ["volunteer"] * trainers + ["helper"] * settings.helpers
        lies = [EVERY_LIE[name] for name in settings.liars] + [HONEST] * (settings.peers - len(settings.liars))
        made = [
            Volunteer(self, n, role=role, lie=lie) for n, (role, lie) in enumerate(zip(roles, lies, strict=True), 1)
        ]
        self.volunteers = {volunteer.peer: volunteer for volunteer in made}
        self.liars = {volunteer.peer for volunteer in made[: len(settings.liars)]}
        self.splitters = {volunteer.peer for volunteer in made if volunteer.splits}
        """Liars that commit two things as leaders."""
        self.contacts = [Contact(self.backbone.peer, "sim-1", PORT)]
        speed = sum(volunteer.speed for volunteer in self.volunteers.values())
        self.target_samples = max(1, int(speed * settings.epoch_s))
        self._random = self.world.chance("faults")
        self._aim_at = 0.0
        self.partitions = 0
        self.backbone.begin()
        self.churn = Churn(
            self.world,
            list(self.volunteers),
            settings=settings.churn,
            random=self.world.chance("churn"),
            begin=lambda peer: self.volunteers[peer].begin(),
            end=lambda peer, how: self.volunteers[peer].end(how),
        )
        if settings.backbone_s is not None:
            self._later(settings.backbone_s, self._backbone_goes)
        if settings.partition_s is not None:
            self._later(settings.partition_s, self._divide)

    def training(self) -> list[Volunteer]:
        """Volunteers that have a ready worker now."""
        return [volunteer for volunteer in self.volunteers.values() if volunteer.training]

    def best(self) -> StateName | None:
        """The state that most volunteers hold now."""
        held = Counter(name for v in self.training() if (name := state_of(v)) is not None)
        return max(held, key=lambda name: (held[name], name), default=None)

    def settle(self) -> None:
        """From now on nothing goes wrong any more."""
        self.calm = True
        self.churn.rest()
        self.world.heal()
        if self.backbone.node is None or not self.backbone.node.up:
            self.backbone.begin()

    def aim(self, peer: PeerId) -> None:
        """A round begins: a good moment to lose one of its members, its leader, or the network between them.

        No more is lost than the others can make good.
        """
        drawn, settings = self._random.random(), self.settings
        if drawn < settings.aimed:
            self.world.agenda.after(self._random.uniform(0, 2), self._hit, self._strike, peer)
        elif drawn < settings.aimed + settings.aimed_partitions:
            self._once_planned(self.volunteers[peer], peer_plan(self.volunteers[peer]))

    def _once_planned(self, volunteer: Volunteer, before: Plan | None) -> None:
        """Once a round has a plan, divide the network in one of its phases."""
        plan, participant = peer_plan(volunteer), volunteer.participant
        if plan is not before:
            delay_s = self._random.uniform(0, AIMED_S)
            self.world.agenda.after(delay_s, self._hit, self._tear, volunteer.peer)
        elif participant is not None and participant.rounds.busy:
            self.world.agenda.after(LOOK_S, self._once_planned, volunteer, before)

    def _hit(self, fault: Callable[[PeerId], None], peer: PeerId) -> None:
        if self.world.now >= self._aim_at:
            self._aim_at = self.world.now + AIM_REST_S
            fault(peer)

    def _strike(self, peer: PeerId) -> None:
        """End the life of a member, or of the leader of its round."""
        plan = peer_plan(self.volunteers[peer])
        self.churn.strike(plan.leader if plan is not None and self._random.random() < LEADERS else peer)

    def _later(self, mean_s: float, action: Any) -> None:
        self.world.agenda.after(self._random.expovariate(1 / mean_s), action)

    def _backbone_goes(self) -> None:
        if self.calm:
            return
        self.world.stop(self.backbone.peer, self._random.choice(list(End)))
        self._later(10.0, self._backbone_comes)

    def _backbone_comes(self) -> None:
        if self.calm:
            return
        self.backbone.begin()
        assert self.settings.backbone_s is not None
        self._later(self.settings.backbone_s, self._backbone_goes)

    def _divide(self) -> None:
        self._cut_off(1, self._random.expovariate(1 / PARTITION_S))

    def _tear(self, _: PeerId) -> None:
        """Divide a round's members for as long as the round may take, so that either side could end it."""
        self._cut_off(max(1, (1 + len(self.volunteers)) // 3), TORN_S)

    def _cut_off(self, fewest: int, seconds: float) -> None:
        """Divide the network, with no fewer peers on either side."""
        if self.calm or self.world.links.divided:
            return
        self.partitions += 1
        peers = [self.backbone.peer, *self.volunteers]
        self.world.divide(self._random.sample(peers, self._random.randint(fewest, len(peers) - fewest)))
        self.world.agenda.after(seconds, self._heal)

    def _heal(self) -> None:
        if self.calm:
            return
        self.world.heal()
        if self.settings.partition_s is not None:
            self._later(self.settings.partition_s, self._divide)


def peer_plan(volunteer: Volunteer) -> Plan | None:
    """The plan of the round in which a volunteer is, or was last."""
    return None if volunteer.participant is None else volunteer.participant.rounds.plan


def state_of(volunteer: Volunteer) -> StateName | None:
    """The state that a volunteer's participant holds."""
    view = volunteer.view()
    return None if view is None else view.state
