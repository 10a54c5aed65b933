"""A simulated network of DHT nodes for tests: a heap of deliveries with delay, loss and dead peers."""

import hashlib
import heapq
from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import Any

from core.base.ids import Contact, Key, Observed, PeerId, distance, node_key
from core.base.machine import Received, Send, Tick, Trace
from core.base.wire import MessageCodec
from core.dht.events import Found, Learned, RecordStored
from core.dht.messages import (
    AMPLIFICATION,
    DHT_MESSAGES,
    MESSAGE_BYTES_MAX,
    Answer,
    Bundled,
    Ping,
    Request,
    RequestBundle,
    encoded_bytes,
)
from core.dht.node import DhtNode
from core.dht.settings import DhtSettings

START = 1_700_000_000.0


@dataclass(frozen=True)
class ToySigner:
    """Signatures that anybody could make; enough where only their handling is tested."""

    peer_id: PeerId

    def sign(self, data: bytes) -> bytes:
        return hashlib.sha512(self.peer_id + data).digest()


class ToyVerifier:
    def __init__(self) -> None:
        self.calls = 0

    def verify(self, peer: PeerId, signature: bytes, data: bytes) -> bool:
        self.calls += 1
        return signature == hashlib.sha512(peer + data).digest()


def peer_id(number: int) -> PeerId:
    return PeerId(hashlib.sha256(b"peer %d" % number).digest())


def contact(number: int) -> Contact:
    return Contact(peer_id(number), f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}", 4000 + number % 1000)


class Network:
    """Nodes 0..count-1.  Peers join one after another through node 0 (or through `seeds`)."""

    def __init__(
        self,
        count: int,
        *,
        seed: int = 0,
        loss: float = 0.0,
        settings: DhtSettings | None = None,
        checked: bool = False,
    ) -> None:
        self.random = Random(seed)
        self.now = START
        self.loss = loss
        self.settings = settings or DhtSettings()
        self.checked = checked
        self.codec = MessageCodec(DHT_MESSAGES)
        self.verifier = ToyVerifier()
        self.nodes: dict[PeerId, DhtNode] = {}
        self.traces: dict[PeerId, Trace] = {}
        self.contacts: dict[PeerId, Contact] = {}
        self.dead: set[PeerId] = set()
        self.divided: set[PeerId] = set()
        self.events: list[tuple[PeerId, Any]] = []
        self.told: dict[PeerId, dict[PeerId, Contact]] = {}
        self.sent: Counter[str] = Counter()
        self.datagrams = 0
        self.seen: dict[tuple[PeerId, PeerId], Contact] = {}
        self._heap: list[tuple[float, int, PeerId, Any]] = []
        self._ticks: dict[PeerId, float] = {}
        self._serial = 0
        self._paid: dict[tuple[PeerId, PeerId, int], int] = {}
        for number in range(count):
            self.add(number)

    def add(self, number: int, *, settings: DhtSettings | None = None, signer: Any = None) -> DhtNode:
        trace = Trace()
        peer = peer_id(number)
        node = DhtNode(
            signer=signer or ToySigner(peer),
            verifier=self.verifier,
            random=Random(self.random.getrandbits(64)),
            settings=settings or self.settings,
            trace=trace,
        )
        self.nodes[peer], self.traces[peer], self.contacts[peer] = node, trace, contact(number)
        self.told[peer] = {}
        return node

    def join_all(self, *, gap_s: float = 0.2, settle_s: float = 20.0) -> None:
        first = next(iter(self.contacts.values()))
        for node in self.nodes.values():
            self.do(node, node.bootstrap([first], self.now))
            self.run(gap_s)
        self.run(settle_s)

    def do(self, node: DhtNode, outputs: Any) -> None:
        for output in outputs:
            match output:
                case Send(to=to, message=message):
                    self._send(node, to, message)
                case Learned(contact=known):
                    self.told[node.me][known.peer_id] = known
                case event:
                    self.events.append((node.me, event))
        self._schedule(node)

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while self._heap and self._heap[0][0] <= end:
            self.now, _, peer, event = heapq.heappop(self._heap)
            node = self.nodes.get(peer)
            if node is None or peer in self.dead:
                self._ticks.pop(peer, None)
                continue
            if isinstance(event, Tick):
                if self._ticks.get(peer) != self.now:
                    continue
                del self._ticks[peer]
            else:
                self._observe(node, self.contacts[event.sender])
            self.do(node, node.handle(event, self.now))
        self.now = end

    def get(self, number: int, key: Key, *, patience_s: float = 12.0) -> Found:
        node = self.nodes[peer_id(number)]
        before = len(self.events)
        self.do(node, node.get(key, self.now))
        return self.await_event(node, Found, before, patience_s)

    def store(
        self, number: int, key: Key, value: bytes, *, lifetime_s: float = 600, suffix: bytes = b""
    ) -> RecordStored:
        node = self.nodes[peer_id(number)]
        before = len(self.events)
        self.do(node, node.store(key, value, lifetime_s=lifetime_s, now=self.now, subkey=bytes(node.me) + suffix))
        return self.await_event(node, RecordStored, before, 12.0)

    def await_event(self, node: DhtNode, kind: type, since: int, patience_s: float) -> Any:
        end = self.now + patience_s
        while self.now <= end:
            for peer, event in self.events[since:]:
                if peer == node.me and isinstance(event, kind):
                    return event
            self.run(0.01)
        raise AssertionError(f"no {kind.__name__} within {patience_s} s")

    def nearest(self, key: Key, count: int) -> list[PeerId]:
        living = [peer for peer in self.nodes if peer not in self.dead]
        return sorted(living, key=lambda peer: distance(node_key(peer), key))[:count]

    def count(self, mark: str) -> int:
        return sum(trace[mark] for trace in self.traces.values())

    def _send(self, node: DhtNode, to: PeerId, message: Any) -> None:
        inside = {RequestBundle: "requests", Bundled: "answers"}.get(type(message))
        for one in (message,) if inside is None else getattr(message, inside):
            self.sent[type(one).__name__] += 1
        self.sent["Ping"] += isinstance(message, Bundled) and bool(message.ping)
        self.datagrams += 1
        if self.checked:
            message = self._check(node.me, to, message)
        if to not in self.told[node.me]:
            raise AssertionError("a Send to a peer whose address the host does not know")
        if self.random.random() < self.loss or (node.me in self.divided) != (to in self.divided):
            return
        at = self.now + self.random.uniform(0.02, 0.15)
        self._push(at, to, Received(node.me, message))

    def _observe(self, node: DhtNode, sender: Contact) -> None:
        """Report an address before its first message, as a host does."""
        if self.seen.get((node.me, sender.peer_id)) != sender:
            self.seen[node.me, sender.peer_id] = self.told[node.me][sender.peer_id] = sender
            self.do(node, node.handle(Observed(sender.peer_id, sender.host, sender.port), self.now))

    def _check(self, sender: PeerId, to: PeerId, message: Any) -> Any:
        """Through the wire and back; sizes and amplification."""
        data = self.codec.encode(message)
        assert len(data) <= MESSAGE_BYTES_MAX, (type(message).__name__, len(data))
        if isinstance(message, Request):
            for one in message.requests if isinstance(message, RequestBundle) else (message,):
                self._paid[sender, to, one.query] = encoded_bytes(one)
        if isinstance(message, Bundled) and message.ping:
            self._paid[sender, to, message.ping] = encoded_bytes(Ping(message.ping, client=False))
        if isinstance(message, Answer):
            for one in message.answers if isinstance(message, Bundled) else (message,):
                assert encoded_bytes(one) <= AMPLIFICATION * self._paid[to, sender, one.query]
        return self.codec.decode(data)

    def _push(self, at: float, peer: PeerId, event: Any) -> None:
        self._serial += 1
        heapq.heappush(self._heap, (at, self._serial, peer, event))

    def _schedule(self, node: DhtNode) -> None:
        deadline = node.deadline
        if deadline is None:
            return
        at = max(deadline, self.now)
        if self._ticks.get(node.me) != at:
            self._ticks[node.me] = at
            self._push(at, node.me, Tick())
