"""Many DHT peers in one simulated world: lets them join, asks them to store and get, and times what comes of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from core.base.ids import Contact, Key, PeerId
from core.base.machine import Received, Trace
from core.base.wire import MessageCodec
from core.dht.events import Found, Joined, RecordStored
from core.dht.messages import DHT_MESSAGES, Bundled, Record
from core.dht.node import DhtNode
from core.dht.settings import DhtSettings
from tests.sim.checkers import Checker
from tests.sim.world.datagrams import PORT
from tests.sim.world.latency import Latency
from tests.sim.world.links import LinkSettings, Router
from tests.sim.world.node import End, Node
from tests.sim.world.signing import SimSigner, SimVerifier
from tests.sim.world.world import World

SEEDS_PER_PEER = 3
WAVE_SHARE = 4
"""A wave of newcomers is at most this fraction (1 / n) of those who are there already."""
WAVE_MAX = 200
WAVE_S = 1.0


@dataclass(slots=True)
class TimedOperation:
    """One store or get, from the call to its event."""

    peer: PeerId
    key: Key
    began: float
    ended: float | None = None
    records: tuple[Record, ...] = ()
    replicas: int = 0
    hops: int = 0
    """Largest number of hops from the reader to an answering peer, along the chain of peers that named each other."""

    @property
    def seconds(self) -> float | None:
        """How long it took; None: it has not ended."""
        return None if self.ended is None else self.ended - self.began


@dataclass(slots=True)
class _Way:
    """Step at which each peer was first named, in a peer's operations in progress."""

    operations: list[TimedOperation] = field(default_factory=list)
    steps: dict[bytes, int] = field(default_factory=dict)


class HopCounter(Checker):
    """Counts the hops of the operations that are under way."""

    def __init__(self) -> None:
        self._ways: dict[PeerId, _Way] = {}

    def begin(self, operation: TimedOperation) -> None:
        """Watch the peer of this operation."""
        self._ways.setdefault(operation.peer, _Way()).operations.append(operation)

    def end(self, operation: TimedOperation) -> None:
        """Stop watching an operation that is over."""
        way = self._ways.get(operation.peer)
        if way is not None and operation in way.operations:
            way.operations.remove(operation)
            if not way.operations:
                del self._ways[operation.peer]

    def delivered(self, node: Node, event: Any, now: float) -> None:
        """An answer takes a step further."""
        del now
        way = self._ways.get(node.peer)
        if way is None or not isinstance(event, Received):
            return
        message = event.message
        step = way.steps.get(event.sender, 1)
        for operation in way.operations:
            operation.hops = max(operation.hops, step)
        for answer in message.answers if isinstance(message, Bundled) else (message,):
            for contact in getattr(answer, "nodes", ()):
                way.steps.setdefault(contact.peer, step + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """The peers of a simulated DHT."""

    peers: int
    """How many there are; they join with `join_all` or `begin`."""
    clients: float = 0.0
    """Share of the peers that sit behind a router and run as clients."""
    skew_s: float = 0.0
    """Their clocks are off by up to this."""
    host: str | None = None
    """Address of all of them, as on one computer; None: each has its own."""


class DhtSwarm:
    """The peers of one world.

    Args:
        seed: Decides everything.
        population: The first peers, and what newcomers are like.
        links: The network's numbers.
        latency: Distances; None: on a circle.
        settings: Of every peer.
    """

    def __init__(
        self,
        seed: int,
        population: Population,
        *,
        links: LinkSettings | None = None,
        latency: Latency | None = None,
        settings: DhtSettings | None = None,
    ) -> None:
        self.ways = HopCounter()
        self.world = World(
            seed,
            MessageCodec(DHT_MESSAGES),
            links=links,
            checkers=[self.ways],
            addresses_known=False,
            latency=latency,
        )
        self.random = self.world.chance("town")
        self.settings = settings or DhtSettings()
        self.signers: dict[PeerId, SimSigner] = {}
        self.up: dict[PeerId, None] = {}
        """Living peers, in the order of coming."""
        self.traces: dict[PeerId, Trace] = {}
        """Counts of the node of each peer's newest life."""
        self.joined = 0
        """`Joined` events of distinct peers' first lives."""
        self.clients: set[PeerId] = set()
        self._population = population
        self._skews: dict[PeerId, float] = {}
        self._pending: dict[tuple[PeerId, Key, type], list[TimedOperation]] = {}
        self._born = 0
        self._arrived: set[PeerId] = set()
        self.newcomers(population.peers)

    def newcomers(self, count: int) -> list[PeerId]:
        """Peers that have never been there; `begin` lets them live."""
        new = []
        for _ in range(count):
            signer = SimSigner.numbered(self.world.seed, self._born)
            self._born += 1
            self.signers[signer.peer_id] = signer
            self._skews[signer.peer_id] = self.random.uniform(-self._population.skew_s, self._population.skew_s)
            if self._born > SEEDS_PER_PEER and self.random.random() < self._population.clients:
                self.clients.add(signer.peer_id)
            new.append(signer.peer_id)
        return new

    def machine(self, peer: PeerId) -> Any:
        """The DHT of a peer's newest life."""
        return self.world.nodes[peer].machine

    def servers(self) -> list[PeerId]:
        """Living peers that are not in client mode."""
        return [peer for peer in self.up if peer not in self.clients]

    def dressed(self, peer: PeerId, machine: DhtNode) -> Any:
        """The machine that runs in this peer's name; a subclass may put another one around it."""
        del peer
        return machine

    # --- life --------------------------------------------------------------------------------------------------------

    def begin(self, peer: PeerId, seeds: Sequence[PeerId]) -> None:
        """Let a peer live and bootstrap through `seeds`."""
        world = self.world
        client = peer in self.clients
        settings = self.settings
        if client:
            settings = replace(settings, client=True)
        before = world.nodes.get(peer)
        trace = self.traces[peer] = Trace()
        machine = DhtNode(
            signer=self.signers[peer],
            verifier=SimVerifier(),
            random=world.chance(f"node {peer.hex()} {world.elapsed_s} {before is not None}"),
            settings=settings,
            trace=trace,
        )
        router = self.random.choice((Router.KEEPS_MAPPING, Router.SYMMETRIC)) if client else Router.OPEN

        def on_event(event: Any, now: float) -> tuple[()]:
            del now
            self._heard(peer, event)
            return ()

        dressed = self.dressed(peer, machine)
        node = world.add(
            peer, dressed, on_event=on_event, skew_s=self._skews[peer], host=self._population.host, router=router
        )
        self.up[peer] = None
        contacts = [Contact(seed, world.nodes[seed].host, PORT) for seed in seeds if seed != peer]
        for contact in contacts:
            node.known.add(contact.peer_id)
        world.driver.perform(node, machine.bootstrap(contacts, node.local(world.now)))

    def end(self, peer: PeerId, how: End = End.POWER_CUT) -> None:
        """End the life of a peer."""
        self.up.pop(peer, None)
        self.world.stop(peer, how)

    def some_seeds(self) -> list[PeerId]:
        """Seeds of a newcomer: a few random servers."""
        servers = list(self.up) if not self.clients else self.servers()
        return self.random.sample(servers, min(SEEDS_PER_PEER, len(servers)))

    def join_all(self) -> Iterator[int]:
        """Let all join through seeds, in waves; yields how many are there after each wave."""
        waiting = [peer for peer in self.signers if peer not in self.up]
        while waiting:
            size = max(1, min(len(self.up) // WAVE_SHARE, WAVE_MAX))
            wave, waiting = waiting[:size], waiting[size:]
            seeds = [self.some_seeds() for _ in wave]
            for peer, known in zip(wave, seeds, strict=True):
                self.begin(peer, known)
            self.world.run(WAVE_S)
            yield len(self.up)

    # --- asking ------------------------------------------------------------------------------------------------------

    def store(
        self, peer: PeerId, key: Key, value: bytes, *, lifetime_s: float, subkey: bytes | None = None
    ) -> TimedOperation:
        """Let a peer store a value."""
        operation = self._note(peer, key, RecordStored)
        node = self.world.nodes[peer]
        outputs = self.machine(peer).store(
            key, value, lifetime_s=lifetime_s, now=node.local(self.world.now), subkey=subkey
        )
        self.world.driver.perform(node, outputs)
        return operation

    def get(self, peer: PeerId, key: Key, *, quorum: int | None = None) -> TimedOperation:
        """Let a peer read a key."""
        operation = self._note(peer, key, Found)
        node = self.world.nodes[peer]
        self.world.driver.perform(node, self.machine(peer).get(key, node.local(self.world.now), quorum=quorum))
        return operation

    def _note(self, peer: PeerId, key: Key, kind: type) -> TimedOperation:
        operation = TimedOperation(peer, key, self.world.now)
        self._pending.setdefault((peer, key, kind), []).append(operation)
        self.ways.begin(operation)
        return operation

    def _heard(self, peer: PeerId, event: Any) -> None:
        match event:
            case Found() | RecordStored():
                for operation in self._pending.pop((peer, event.key, type(event)), ()):
                    operation.ended = self.world.now
                    self.ways.end(operation)
                    if isinstance(event, Found):
                        operation.records = event.records
                    else:
                        operation.replicas = event.replicas
            case Joined():
                if peer not in self._arrived:
                    self._arrived.add(peer)
                    self.joined += 1
            case _:
                pass
