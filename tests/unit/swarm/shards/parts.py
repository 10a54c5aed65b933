"""Exchanges in one room: messages arrive at once, in a random order, and the DHT is a table."""

from collections.abc import Sequence
from random import Random
from typing import Any

from core.base.content import CHUNK_BYTES, chunk_digests, root_digest
from core.base.ids import PeerId
from core.base.machine import Received, Send, Tick, Trace
from core.dht.events import Found
from core.dht.messages import Record
from core.swarm.catching_up.donor import PastMembers
from core.swarm.shards.exchange import ShardExchange
from core.swarm.shards.names import Catalogue, OwnRounds, ShardEntry, ShardHere, ShardLied, ShardName, ShardsWanted


def peer(number: int) -> PeerId:
    return PeerId(number.to_bytes(2, "big") * 16)


class MemoryFile:
    def __init__(self, data: bytes) -> None:
        self.pieces = [data[i : i + CHUNK_BYTES] for i in range(0, len(data), CHUNK_BYTES)]
        self.chunks: Sequence[bytes] = chunk_digests(self.pieces)
        self.digest = root_digest(self.chunks)
        self.size_bytes = len(data)

    def read(self, index: int) -> bytes:
        return self.pieces[index]


def shards(count: int, size: int = CHUNK_BYTES + 1000) -> list[MemoryFile]:
    return [MemoryFile(Random(number).randbytes(size)) for number in range(count)]


def catalogue_of(files: Sequence[MemoryFile], sources: int = 1) -> Catalogue:
    """Each source has the same shards."""
    entries = tuple(ShardEntry(file.digest, file.size_bytes) for file in files)
    return Catalogue(bytes(32), dict.fromkeys(range(sources), entries))


class Sink:
    def __init__(self, store: "Store", digest: bytes) -> None:
        self.store, self.digest = store, digest
        self.kept: dict[int, bytes] = {}

    def begin(self, root: bytes, size_bytes: int, chunks: Sequence[bytes]) -> set[int]:
        self.kept = self.store.parts.setdefault(root, {})
        return set(self.kept)

    def write(self, index: int, data: memoryview) -> None:
        self.kept[index] = bytes(data)

    def finish(self) -> str:
        whole = MemoryFile(b"".join(data for _, data in sorted(self.kept.items())))
        self.store.files[self.digest] = whole
        return ""


class Store:
    def __init__(
        self, files: Sequence[MemoryFile], held: Sequence[int] = (), *, room: int = 100, sources: int = 1
    ) -> None:
        self.catalogue = catalogue_of(files, sources)
        self.files = {files[number].digest: files[number] for number in held}
        self.parts: dict[bytes, dict[int, bytes]] = {}
        self.budget_bytes = room * files[0].size_bytes

    def held(self) -> Sequence[bytes]:
        return list(self.files)

    def file(self, digest: bytes) -> MemoryFile | None:
        return self.files.get(digest)

    def sink(self, digest: bytes) -> Sink:
        return Sink(self, digest)

    spare_bytes = 0

    def room_bytes(self, digest: bytes) -> int:
        return self.catalogue.entry(self.catalogue.names[digest]).size_bytes

    def expect(self, digest: bytes) -> None:
        pass

    def give_up(self, digest: bytes) -> None:
        pass

    def drop_spare(self) -> int:
        return 0

    def evict(self, digest: bytes) -> bool:
        self.files.pop(digest, None)
        return True


class Room:
    """Carries messages between exchanges."""

    def __init__(self, seed: int = 0) -> None:
        self.random = Random(seed)
        self.now = 1000.0
        self.exchanges: dict[PeerId, ShardExchange] = {}
        self.traces: dict[PeerId, Trace] = {}
        self.busy: set[PeerId] = set()
        self.flying: list[tuple[PeerId, Any]] = []
        self.events: list[tuple[PeerId, Any]] = []
        self.table: dict[bytes, dict[PeerId, Record]] = {}
        self.asked: list[tuple[PeerId, PeerId, str]] = []
        """From, to, the name of the message."""
        self.change = lambda sender, message: message

    def add(self, number: int, store: Store) -> ShardExchange:
        me = peer(number)
        trace = self.traces[me] = Trace()
        exchange = self.exchanges[me] = ShardExchange(
            me,
            store=store,
            directory=Table(self, me),
            random=Random(number),
            trace=trace,
            rounds=OwnRounds(lambda: me in self.busy, PastMembers()),
        )
        exchange.start(self.now)
        return exchange

    def tell(self, number: int, event: Any) -> None:
        self.take(peer(number), self.exchanges[peer(number)].handle(event, self.now))

    def take(self, sender: PeerId, outputs: Sequence[Any]) -> None:
        for output in outputs:
            if not isinstance(output, Send):
                self.events.append((sender, output))
                continue
            self.asked.append((sender, output.to, type(output.message).__name__))
            message = self.change(sender, output.message)
            if output.to in self.exchanges and message is not None:
                self.flying.append((output.to, Received(sender, message)))

    def run(self, seconds: float) -> None:
        """Let time go on; messages take none."""
        ends = self.now + seconds
        while True:
            if self.flying:
                to, event = self.flying.pop(self.random.randrange(len(self.flying)))
                if isinstance(event, Found):
                    self.take(to, self.exchanges[to].found(event, self.now) or [])
                else:
                    self.take(to, self.exchanges[to].handle(event, self.now))
                continue
            due = min((e.deadline for e in self.exchanges.values() if e.deadline is not None), default=ends)
            if due >= ends:
                self.now = ends
                return
            self.now = max(self.now, due)
            for me, exchange in self.exchanges.items():
                if exchange.deadline is not None and exchange.deadline <= self.now:
                    self.take(me, exchange.handle(Tick(), self.now))

    def here(self, number: int) -> list[int]:
        return sorted(e.name.number for p, e in self.events if p == peer(number) and isinstance(e, ShardHere))

    def lied(self, number: int) -> set[PeerId]:
        return {PeerId(e.peer) for p, e in self.events if p == peer(number) and isinstance(e, ShardLied)}


class Table:
    def __init__(self, room: Room, me: PeerId) -> None:
        self.room, self.me = room, me

    def get(self, key: bytes, now: float) -> Sequence[Any]:
        self.room.flying.append((self.me, Found(key, tuple(self.room.table.get(key, {}).values()))))
        return []

    def store(
        self, key: bytes, value: bytes, *, lifetime_s: float, now: float, subkey: bytes | None = None
    ) -> list[Any]:
        record = Record(subkey or self.me, value, int(1000 * (now + lifetime_s)), bytes(64))
        self.room.table.setdefault(key, {})[self.me] = record
        return []


def wanted(*numbers: int) -> ShardsWanted:
    return ShardsWanted(0, numbers)


def name(number: int) -> ShardName:
    return ShardName(0, number)
