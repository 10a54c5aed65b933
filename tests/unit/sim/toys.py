"""Toy machines for the simulator's own tests: a gossip over datagrams, and a talker over streams."""

from collections.abc import Sequence
from random import Random
from typing import Any, ClassVar

from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick
from core.base.wire import Message, MessageCodec, Plane
from tests.sim.world.links import LOCAL, LinkSettings
from tests.sim.world.signing import SimSigner
from tests.sim.world.world import World


class Rumour(Message, frozen=True, tag="toy.rumour"):
    plane: ClassVar[Plane] = "datagram"
    number: int


class Word(Message, frozen=True, tag="toy.word"):
    number: int


class Load(Message, frozen=True, tag="toy.load"):
    bulk: ClassVar[bool] = True
    number: int
    data: memoryview


CODEC = MessageCodec((Rumour, Word, Load))
QUIET = LinkSettings(loss=0.0, duplicate=0.0, jitter_s=0.0)


class Gossip:
    """Tells a random neighbour, several times a second, the greatest number that it has heard."""

    def __init__(self, me: PeerId, others: Sequence[PeerId], random: Random, now: float) -> None:
        self.others = [peer for peer in others if peer != me]
        self.random = random
        self.greatest = 0
        self.deadline: float | None = now + random.random()

    def handle(self, event: Any, now: float) -> list[Any]:
        match event:
            case Received(message=Rumour(number=number)):
                self.greatest = max(self.greatest, number)
            case Tick():
                self.deadline = now + self.random.uniform(0.05, 0.15)
                return [Send(self.random.choice(self.others), Rumour(self.greatest)), ("told", self.greatest)]
        return []


class Listener:
    """Writes down what it gets."""

    def __init__(self) -> None:
        self.deadline: float | None = None
        self.got: list[Any] = []
        self.times: list[float] = []

    def handle(self, event: Any, now: float) -> list[Any]:
        self.got.append(event)
        self.times.append(now)
        return []

    @property
    def words(self) -> list[int]:
        return [event.message.number for event in self.got if isinstance(event, Received)]

    @property
    def lost(self) -> list[str]:
        return [event.reason for event in self.got if isinstance(event, Lost)]


def peer(number: int) -> PeerId:
    return SimSigner.numbered(0, number).peer_id


def listeners(count: int, *, seed: int = 1, links: LinkSettings = QUIET) -> tuple[World, list[Listener]]:
    world = World(seed, CODEC, links=links)
    machines = [Listener() for _ in range(count)]
    for number, machine in enumerate(machines):
        world.add(peer(number), machine)
    return world, machines


def say(world: World, number: int, to: int, message: Message) -> None:
    world.driver.perform(world.nodes[peer(number)], [Send(peer(to), message)])


def gossip_world(seed: int, count: int = 30, *, links: LinkSettings | None = None) -> tuple[World, list[Gossip]]:
    world = World(seed, CODEC, links=links or LOCAL)
    peers = [peer(number) for number in range(count)]
    machines = [Gossip(me, peers, world.chance(f"gossip {me.hex()}"), world.now) for me in peers]
    for me, machine in zip(peers, machines, strict=True):
        world.add(me, machine)
    machines[0].greatest = 42
    return world, machines
