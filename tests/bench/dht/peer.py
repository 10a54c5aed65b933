"""Real DHT nodes in one process: signed datagrams over UDP on this computer, a host and a socket for each node.

Told with lines of JSON on stdin what to do (`tests.bench.children`), it ends when stdin does.
"""

import asyncio
import signal
import time
from collections import defaultdict
from collections.abc import Sequence
from random import Random, SystemRandom
from typing import Any

import msgspec

from core.base.ids import Contact, Key, hashed_key
from core.base.machine import Trace
from core.base.signing import Ed25519Verifier
from core.dht.events import Found, Joined, Learned, RecordStored
from core.dht.messages import DHT_MESSAGES
from core.dht.node import DhtNode, Put
from core.dht.settings import DhtSettings
from core.net.clock import Clock
from tests.bench.children import say, told
from tests.bench.stage import keys, make_host, peer_id

LIFETIME_S = 900.0
SETTINGS = DhtSettings(records_per_owner=DhtSettings().records_max, replicas=5)
"""As many holders as the peer that is measured beside it has.  With few nodes one of them writes more than a holder
takes of one owner: it is speed that is measured, not limits."""
HOST = "127.0.0.1"


class Begin(msgspec.Struct, frozen=True, kw_only=True, tag="begin"):
    """Be the nodes from number `first` on; `NodesJoined` answers.  Without a seed's port, node `first` begins alone."""

    first: int
    count: int
    seed_port: int
    """Port of node 0; 0: there is none yet."""


class DhtWork(msgspec.Struct, frozen=True, kw_only=True, tag="work"):
    """Orders to store or get each name from random nodes, several at once; `Worked` answers."""

    kind: str
    """"store" or "get"."""
    names: list[str]
    at_once: int
    subkeys: int = 0
    """Number of values under each name; 0: one, without a subkey of its own."""
    quorum: int | None = None
    seed: int = 0


class AskUsage(msgspec.Struct, frozen=True, kw_only=True, tag="report"):
    """Say what you have used; `Used` answers."""


class NodesJoined(msgspec.Struct, frozen=True, kw_only=True):
    """All nodes of the process have joined."""

    port: int
    """Port of the first of them."""
    seconds: float
    """Per node."""


class Worked(msgspec.Struct, frozen=True, kw_only=True):
    """Reports the results of a `DhtWork`."""

    seconds: list[float]
    """Duration of each operation."""
    good: int
    """Stores that somebody holds; gets that found exactly what was stored."""
    wall_s: float


class Used(msgspec.Struct, frozen=True, kw_only=True):
    """Resources used since the process began."""

    cpu_s: float
    bytes_sent: int


Order = Begin | DhtWork | AskUsage


class BenchNode:
    """One DHT node and its host."""

    def __init__(self, index: int, clock: Clock) -> None:
        self._clock = clock
        self._waiting: defaultdict[Key, list[asyncio.Future[Any]]] = defaultdict(list)
        self.joined = asyncio.Event()
        self.index = index
        self.dht = DhtNode(
            signer=keys(index),
            verifier=Ed25519Verifier(),
            random=SystemRandom(),
            settings=SETTINGS,
            trace=Trace(),
        )
        self.host = make_host(index, self.dht, messages=DHT_MESSAGES, clock=clock, on_event=self._on_event)

    async def start(self, seed_port: int) -> int:
        """Open the sockets and join through node 0; returns the port."""
        port = await self.host.start(bind=HOST)
        if seed_port:
            seed = Contact(peer_id(0), HOST, seed_port)
            self.host.perform(self.dht.bootstrap([seed], self._clock.now()))
            await self.joined.wait()
        return port

    async def store(self, name: str, subkeys: int) -> bool:
        """Store one value, or several together under subkeys; whether each is held by somebody."""
        puts = [Put(_key(name), value, LIFETIME_S, subkey) for subkey, value in self._values(name, subkeys)]
        futures = [self._wait(puts[0].key) for _ in puts]
        self.host.perform(self.dht.store_many(puts, self._clock.now()))
        return all(stored.replicas > 0 for stored in await asyncio.gather(*futures))

    async def get(self, name: str, subkeys: int, *, quorum: int | None) -> bool:
        """Get a name; whether it holds as many values as were stored, each the right one."""
        future = self._wait(_key(name))
        self.host.perform(self.dht.get(_key(name), self._clock.now(), quorum=quorum))
        found = await future
        wanted = sorted(value for _, value in self._values(name, subkeys))
        return sorted(record.value for record in found.records) == wanted

    def _values(self, name: str, subkeys: int) -> list[tuple[bytes | None, bytes]]:
        if not subkeys:
            return [(None, name.encode())]
        return [(bytes(self.dht.me) + b"peer%d" % i, b"%d" % i) for i in range(subkeys)]

    def _wait(self, key: Key) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[key].append(future)
        return future

    def _on_event(self, event: Any, now: float) -> None:
        del now
        match event:
            case Learned(contact=contact):
                self.host.learn(contact.peer_id, contact.host, contact.port)
            case Joined():
                self.joined.set()
            case Found(key=key) | RecordStored(key=key) if key in self._waiting:
                self._waiting[key].pop().set_result(event)
                if not self._waiting[key]:
                    del self._waiting[key]
            case _:
                pass


def _key(name: str) -> Key:
    return Key(hashed_key(b"bench dht", name.encode()))


async def _begin(order: Begin, clock: Clock) -> tuple[list[BenchNode], NodesJoined]:
    nodes, port = [BenchNode(order.first + i, clock) for i in range(order.count)], 0
    began = time.perf_counter()
    for node in nodes:
        port_of_this = await node.start(order.seed_port or port)
        port = port or port_of_this
    return nodes, NodesJoined(port=port, seconds=(time.perf_counter() - began) / len(nodes))


async def _work(nodes: Sequence[BenchNode], order: DhtWork) -> Worked:
    random = Random(order.seed)
    turns = asyncio.Semaphore(order.at_once)
    seconds: list[float] = []

    async def one(name: str) -> bool:
        node = random.choice(nodes)
        async with turns:
            began = time.perf_counter()
            if order.kind == "store":
                good = await node.store(name, order.subkeys)
            else:
                good = await node.get(name, order.subkeys, quorum=order.quorum)
            seconds.append(time.perf_counter() - began)
            return good

    began = time.perf_counter()
    good = sum(await asyncio.gather(*(one(name) for name in order.names)))
    return Worked(seconds=seconds, good=good, wall_s=time.perf_counter() - began)


async def main() -> None:
    """Carry out the orders that come on stdin."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process ends this one, by closing stdin
    nodes: list[BenchNode] = []
    clock = Clock()
    while (order := await told(Order)) is not None:
        match order:
            case Begin():
                more, ready = await _begin(order, clock)
                nodes += more
                say(ready)
            case DhtWork():
                say(await _work(nodes, order))
            case AskUsage():
                sent = sum(node.host.stats.bytes_sent for node in nodes)
                say(Used(cpu_s=time.process_time(), bytes_sent=sent))
    await asyncio.gather(*(node.host.close() for node in nodes))


if __name__ == "__main__":
    asyncio.run(main())
