"""A simulated swarm whose members read a data set and share its shards: the real exchange, lines, churn, an origin.

A chunk is 1 KiB where it is 256 KiB in the program, and lines are slower by the same factor, so everything takes as
long as it would.  The DHT is one table that answers after a moment; what its records weigh is counted.  A reader reads
one shard after the other, each for a while, and asks for the next one when it begins with one.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from core.base.ids import Key, PeerId
from core.base.machine import Trace
from core.base.signing import SIGNATURE_BYTES
from core.base.wire import MessageCodec
from core.dht.events import Found
from core.dht.messages import Record
from core.dht.node import DhtNode
from core.swarm.catching_up.donor import PastMembers
from core.swarm.shards.exchange import ShardExchange
from core.swarm.shards.names import Catalogue, OwnRounds, ShardEntry, ShardHere, ShardKept, ShardName, ShardsWanted
from core.swarm.words.messages import SHARD_MESSAGES
from tests.sim.shards.parts import CHUNK, EXCHANGES, SCALE, MemoryShard, MemoryShards
from tests.sim.stays import Stays
from tests.sim.world.links import LinkSettings, log_uniform
from tests.sim.world.node import End, Node
from tests.sim.world.signing import SimSigner
from tests.sim.world.world import World

HOMES: Final = ((100.0, 40.0), (100.0, 40.0), (50.0, 10.0), (50.0, 10.0), (50.0, 10.0), (50.0, 10.0), (20.0, 5.0))
"""Home lines, Mbit/s down and up, as in the fleet `home8` of `python -m tests.bench`, less one of its slowest."""
MBIT_BYTES: Final = 125_000
DIRECTORY_S: Final = (0.3, 1.5)
"""How long a read of the DHT takes, least and most."""
WAIT_S: Final = 3.0
"""How long the reader waits for a shard that comes, as `core.reading.desk` does."""
RECORD_BYTES: Final = 150
"""Bytes of a record beside its value: subkey, expiration, signature."""
ENDS: Final = (End.LEAVE, End.CRASH, End.POWER_CUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardSwarmSettings:
    """The numbers of a swarm that shares shards."""

    peers: int = 200
    shards: int = 200
    chunks: int = 2
    """Chunks of each shard, 256 KiB each."""
    disk: float = 0.05
    """Share of the shards for which each peer has room."""
    window: int = 16
    """Number of shards that a reader wants at a time: the next ones in its own order."""
    read_s: tuple[float, float] = (20.0, 90.0)
    """How long a peer reads one shard: the fastest and the slowest, drawn log-uniformly."""
    origin_mbit: float = 1000.0
    """Rate of the origin for one reader."""
    stays: Stays | None = None
    """How long peers stay; None: for ever."""
    seeder_s: float | None = None
    """Time for which a member that holds all shards is there, and no origin ever; None: there is an origin."""
    without: str = ""
    """What is switched off: "rarest", "commonest"."""
    shares: bool = True
    """Whether anything is shared at all."""
    seeded: bool = False
    """Whether each peer holds shards from the beginning, drawn at random, and reads nothing."""


class SharedTable:
    """The DHT as one peer sees it: a table that all share.

    Args:
        swarm: Has the table.
        me: The peer.
    """

    def __init__(self, swarm: "ShardSwarm", me: PeerId) -> None:
        self._swarm = swarm
        self._me = me

    def get(self, key: Key, now: float) -> Sequence[Any]:
        """The swarm's table answers in a moment."""
        del now
        self._swarm.read_soon(self._me, key)
        return ()

    def store(
        self, key: Key, value: bytes, *, lifetime_s: float, now: float, subkey: bytes | None = None
    ) -> Sequence[Any]:
        """The swarm's table has the record at once."""
        record = Record(subkey or self._me, value, int(1000 * (now + lifetime_s)), bytes(SIGNATURE_BYTES))
        self._swarm.table.setdefault(key, {})[self._me] = record
        self._swarm.directory_bytes += len(value) + RECORD_BYTES
        return ()


@dataclass(slots=True)
class SimReader:
    """What a peer's reader has done and does."""

    exchange: ShardExchange
    read_s: float
    left: list[int]
    """Shards of this pass that are not read, in the peer's own order."""
    begun_at: float
    patient: bool = False
    """Whether it waits for peers, however long that takes."""
    waits: bool = False
    """Whether it waits for a shard that comes."""
    peers: int = 0
    origin: int = 0
    """Number of shards that came from peers, and from the origin."""
    idle_s: float = 0.0
    times: list[float] = field(default_factory=list)
    """When each shard was there, seconds after the begin."""


class ShardSwarm:
    """The swarm, its origin, and what is counted.

    Args:
        settings: Its numbers.
        seed: Decides everything.
    """

    def __init__(self, settings: ShardSwarmSettings, *, seed: int) -> None:
        self.settings = settings
        self.world = World(seed, MessageCodec(SHARD_MESSAGES), links=LinkSettings(loss=0.0033))
        self._random = self.world.chance("shards")
        shards = [MemoryShard(number, settings.chunks) for number in range(settings.shards)]
        self._library = {shard.digest: shard for shard in shards}
        entries = tuple(ShardEntry(shard.digest, shard.size_bytes) for shard in shards)
        self.catalogue = Catalogue(bytes(32), {0: entries}, chunk_bytes=CHUNK)
        self.table: dict[Key, dict[PeerId, Record]] = {}
        self.directory_bytes = 0
        self.origin_shards = 0
        self.readers: dict[PeerId, SimReader] = {}
        """Readers of peers that live."""
        self.finished: list[SimReader] = []
        self.gone = 0
        self.rarest: list[tuple[float, int]] = []
        """By time: number of holders of the rarest shard."""
        self.kept = 0
        """Number of shards that somebody holds."""
        self._count = 0
        for _ in range(settings.peers):
            if settings.seeded:
                self.come(first=self._random.sample(range(settings.shards), self.room))
            else:
                self.world.agenda.after(self._random.uniform(0.0, 60.0), self._come_met)
        if settings.seeder_s is not None:
            self.world.agenda.after(settings.seeder_s, self._go, self.come(first=range(settings.shards)))
        self.world.agenda.after(10.0, self._look)

    @property
    def room(self) -> int:
        """Number of shards for which each peer has room."""
        return max(1, round(self.settings.disk * self.settings.shards)) if self.settings.shares else 0

    def newcomer(self, count: int) -> tuple[SimReader, float]:
        """One more peer comes, and wants so many shards as soon as peers can give them.

        Args:
            count: Number of shards.

        Returns:
            Its reader, and the seconds that its own line takes for as many bytes.
        """
        me = self.come(read_s=0.01)
        reader = self.readers[me]
        reader.patient, reader.left = True, reader.left[:count]
        size_bytes = count * self.catalogue.sources[0][0].size_bytes
        return reader, size_bytes / self.world.nodes[me].place.downlink_bytes_per_s

    # --- peers -------------------------------------------------------------------------------------------------------

    def _come_met(self) -> None:
        self.come(met=True)

    def come(self, *, met: bool = False, first: Sequence[int] = (), read_s: float | None = None) -> PeerId:
        """A peer begins to read.

        Args:
            met: It has been here before the world began, so that its stay is met in the middle.
            first: Shards that it holds.
            read_s: How long it reads a shard; None: it is drawn.
        """
        settings, number = self.settings, self._count
        self._count += 1
        me = SimSigner.numbered(self.world.seed, number).peer_id
        place = self.world.links.place(me)
        down, up = HOMES[number % len(HOMES)]
        place.downlink_bytes_per_s, place.uplink_bytes_per_s = down * MBIT_BYTES / SCALE, up * MBIT_BYTES / SCALE
        entries = self.catalogue.sources[0]
        store = MemoryShards(
            self.catalogue,
            self.room * entries[0].size_bytes,
            self._library,
            tuple(entries[shard].digest for shard in first),
        )
        exchange = EXCHANGES[settings.without](
            me,
            store=store,
            directory=cast("DhtNode", SharedTable(self, me)),
            random=self.world.chance(f"exchange {number}"),
            trace=Trace(),
            rounds=OwnRounds(lambda: False, PastMembers()),
        )
        left = list(range(settings.shards))
        self._random.shuffle(left)
        reader = SimReader(exchange, read_s or log_uniform(self._random, *settings.read_s), left, self.world.now)
        reader.patient = settings.seeder_s is not None
        self.readers[me] = reader
        exchange.start(self.world.now)
        node = self.world.add(me, exchange, on_event=lambda event, now: self._event(node, event, now))
        if not first:
            self.world.driver.when(node, 0.0, lambda now: self._next(node, now))
        if settings.stays is not None and not first:
            stay_s = settings.stays.rest_s(self._random) if met else settings.stays.whole_s(self._random)
            self.world.agenda.after(stay_s, self._go, me)
        return me

    def _go(self, me: PeerId) -> None:
        if me in self.readers:
            self.gone += 1
            del self.readers[me]
            self.world.stop(me, self._random.choice(ENDS))
            self.come()

    # --- readers -----------------------------------------------------------------------------------------------------

    def _next(self, node: Node, now: float) -> Sequence[Any]:
        """The reader asks for its next shard."""
        reader = self.readers[node.peer]
        if not reader.left:
            if reader not in self.finished:
                self.finished.append(reader)
            return []
        wanted = reader.left[: self.settings.window]
        outputs = reader.exchange.handle(ShardsWanted(0, tuple(wanted)), now)
        has_origin = self.settings.seeder_s is None
        if has_origin and (number := reader.exchange.to_seed(0, wanted)) is not None:
            return [*outputs, *self._from_origin(node, reader, number)]
        lying = reader.exchange.lying(0, wanted)
        if lying is not None:
            self._read(node, reader, lying)
            reader.peers += 1
            return outputs
        if reader.patient or reader.exchange.comes(0):
            reader.waits = True
            asked = len(reader.left)
            self.world.driver.when(node, WAIT_S, lambda then: self._waited(node, asked, then))
            return outputs
        return [*outputs, *self._from_origin(node, reader)]

    def _waited(self, node: Node, asked: int, now: float) -> Sequence[Any]:
        reader = self.readers[node.peer]
        if not reader.waits or reader.patient or len(reader.left) != asked:
            return []
        del now
        return self._from_origin(node, reader)

    def _from_origin(self, node: Node, reader: SimReader, number: int | None = None) -> Sequence[Any]:
        reader.waits = False
        if number is None:
            number = reader.exchange.from_origin(0, reader.left[: self.settings.window])
        self.origin_shards += 1
        reader.origin += 1
        rate = min(node.place.downlink_bytes_per_s, self.settings.origin_mbit * MBIT_BYTES / SCALE)
        seconds = self.catalogue.sources[0][number].size_bytes / rate + 0.3
        self.world.driver.when(node, seconds, lambda now: self._got(node, number, now))
        return []

    def _got(self, node: Node, number: int, now: float) -> Sequence[Any]:
        """A shard from the origin is here: it is read, and kept where that is worth it."""
        reader, name = self.readers[node.peer], ShardName(0, number)
        self._read(node, reader, number)
        if reader.exchange.keeps(name):
            return reader.exchange.handle(ShardKept(name), now)
        return []

    def _read(self, node: Node, reader: SimReader, number: int) -> None:
        reader.waits = False
        reader.left.remove(number)
        reader.times.append(self.world.now - reader.begun_at)
        self.world.driver.when(node, reader.read_s, lambda now: self._next(node, now))

    def _event(self, node: Node, event: Any, now: float) -> Sequence[Any]:
        reader = self.readers.get(node.peer)
        if isinstance(event, ShardHere) and reader is not None and reader.waits:
            return self._next(node, now)
        return ()

    # --- the DHT, and what is counted --------------------------------------------------------------------------------

    def read_soon(self, me: PeerId, key: Key) -> None:
        """A peer reads a key, which takes a moment."""
        node = self.world.nodes[me]
        self.world.driver.when(node, self._random.uniform(*DIRECTORY_S), lambda now: self._found(me, key, now))

    def _found(self, me: PeerId, key: Key, now: float) -> Sequence[Any]:
        records = tuple(record for record in self.table.get(key, {}).values() if record.expiration > now)
        self.directory_bytes += sum(len(record.value) + RECORD_BYTES for record in records)
        return self.readers[me].exchange.found(Found(key, records), now) or ()

    def _look(self) -> None:
        held = Counter(name.number for reader in self.readers.values() for name in reader.exchange.shelf.held)
        holders = [held[number] for number in range(self.settings.shards)]
        self.rarest.append((self.world.elapsed_s, min(holders)))
        self.kept = sum(map(bool, holders))
        self.world.agenda.after(10.0, self._look)
