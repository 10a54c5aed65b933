"""A pretended network for machines: delays, reordering, duplicates, deaths and broken links, from a seed."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import msgspec
import numpy as np

from core.averaging.butterfly import Butterfly, RoundInput
from core.averaging.distances import DistanceBook
from core.averaging.grid.grid import Grid
from core.averaging.grid.plans import GRID_MESSAGES
from core.averaging.matchmaking import GROUP_MESSAGES
from core.averaging.matchmaking.attempts import by_distance
from core.averaging.matchmaking.plans import PlanRequest
from core.averaging.matchmaking.plans import make_plan as publish
from core.averaging.messages import ROUND_MESSAGES
from core.averaging.plan import Member, Plan
from core.base.ids import Key, PeerId, hashed_key
from core.base.machine import Lost, Received, Send, Tick, Trace
from core.base.manifest import AveragingNumbers
from core.base.signing import KeyPair
from core.base.wire import MessageCodec
from core.codecs.registry import codec_of

CODEC = MessageCodec((*ROUND_MESSAGES, *GROUP_MESSAGES, *GRID_MESSAGES))


def peer_ids(count: int) -> list[PeerId]:
    return sorted(PeerId(hashed_key(b"peer", bytes([index]))) for index in range(count))


def with_keys(plan: Plan) -> tuple[Plan, list[KeyPair]]:
    """A plan whose members have keys, and their keys, in its order."""
    keys = [KeyPair(hashed_key(b"key", bytes([place]))) for place in range(len(plan.members))]
    keys.sort(key=lambda key: key.peer_id)
    rows = zip(plan.members, keys, strict=True)
    return msgspec.structs.replace(
        plan, members=tuple(msgspec.structs.replace(row, peer=key.peer_id) for row, key in rows)
    ), keys


@dataclass
class Pump:
    machines: dict[PeerId, Any]
    random: Random
    now: float = 1000.0
    delay_s: tuple[float, float] = (0.001, 0.02)
    duplicate: float = 0.0
    through_bytes: bool = True
    ordered: bool = False
    """Whether what one peer says to another arrives in order, as on a stream."""
    before: Callable[["Pump", PeerId, Any], None] | None = None
    events: dict[PeerId, list[Any]] = field(default_factory=dict)
    frozen: set[PeerId] = field(default_factory=set)
    dead: set[PeerId] = field(default_factory=set)
    cut: set[frozenset[PeerId]] = field(default_factory=set)
    delivered: int = 0
    speaks: tuple[type, ...] | None = None
    on_event: Callable[["Pump", PeerId, Any], list[Any]] | None = None

    def __post_init__(self) -> None:
        self.queue: list[tuple[float, int, PeerId, Any]] = []
        self.count = 0
        self.last: dict[tuple[PeerId, PeerId], float] = {}
        self.events = {peer: [] for peer in self.machines}

    def push(self, at: float, to: PeerId, event: Any) -> None:
        self.count += 1
        heapq.heappush(self.queue, (at, self.count, to, event))

    def say(self, source: PeerId, outputs: list[Any]) -> None:
        assert isinstance(outputs, list)
        for output in outputs:
            if not isinstance(output, Send):
                self.events[source].append(output)
                if self.on_event is not None:
                    self.say(source, self.on_event(self, source, output))
                continue
            if frozenset((source, output.to)) in self.cut or output.to not in self.machines:
                continue
            if self.speaks is not None and not isinstance(output.message, self.speaks):
                continue
            copies = 2 if self.random.random() < self.duplicate else 1
            for _ in range(copies):
                message = (
                    CODEC.decode(bytearray(CODEC.encode(output.message))) if self.through_bytes else output.message
                )
                at = self.now + self.random.uniform(*self.delay_s)
                if self.ordered:
                    at = self.last[source, output.to] = max(at, self.last.get((source, output.to), 0.0))
                self.push(at, output.to, Received(source, message))

    def kill(self, peer: PeerId, *, notice_s: float = 0.0) -> None:
        """The process ends: what it said last may or may not arrive; the others' hosts notice."""
        self.dead.add(peer)
        keep = self.random.random() < 0.5
        self.queue = [
            item
            for item in self.queue
            if item[2] != peer and (keep or not (isinstance(item[3], Received) and item[3].sender == peer))
        ]
        heapq.heapify(self.queue)
        for other in self.machines:
            if other != peer:
                self.push(self.now + notice_s + self.random.uniform(*self.delay_s), other, Lost(peer, "gone"))

    def break_link(self, a: PeerId, b: PeerId) -> None:
        self.cut.add(frozenset((a, b)))
        self.queue = [i for i in self.queue if not (isinstance(i[3], Received) and {i[3].sender, i[2]} == {a, b})]
        heapq.heapify(self.queue)
        self.push(self.now, a, Lost(b, "link"))
        self.push(self.now, b, Lost(a, "link"))

    def step(self) -> bool:
        """Deliver the next thing; False when nothing will happen any more."""
        awake = {p: m for p, m in self.machines.items() if p not in self.dead and p not in self.frozen}
        deadlines = [(m.deadline, p) for p, m in awake.items() if m.deadline is not None]
        at, peer = min(deadlines, default=(None, None))
        if self.queue and (at is None or self.queue[0][0] <= at):
            when, _, peer, event = heapq.heappop(self.queue)
            self.now = max(self.now, when)
        elif at is not None:
            self.now = max(self.now, at)
            event = Tick()
        else:
            return False
        if peer in self.dead or peer in self.frozen:
            return True
        if self.before is not None:
            self.before(self, peer, event)
            if peer in self.dead or peer in self.frozen:
                return True
        self.delivered += isinstance(event, Received)
        self.say(peer, self.machines[peer].handle(event, self.now))
        return True

    def run(self, *, until: float | None = None, steps: int = 200_000) -> None:
        for _ in range(steps):
            if until is not None and self.now > until:
                return
            if not self.step():
                return
        raise AssertionError("the network does not come to rest")


def make_plan(
    samples: list[int],
    numel: int,
    *,
    chunk_numel: int = 16,
    codec: str = "raw",
    stall_timeout_s: float = 2.0,
    round_timeout_s: float = 20.0,
    stages: int = 1,
    number: int = 0,
) -> Plan:
    peers = peer_ids(len(samples))
    request = PlanRequest(
        round=hashed_key(b"test round", *([bytes([number])] if number else [])),
        epoch=3,
        lineage=bytes(32),
        numel=numel,
        numbers=AveragingNumbers(
            codec=codec,
            chunk_numel=chunk_numel,
            stall_timeout_s=stall_timeout_s,
            round_timeout_s=round_timeout_s,
            weight_share=1.0,
        ),
    )
    members = [Member(p, s, 0.5 + i) for i, (p, s) in enumerate(zip(peers, samples, strict=True))]
    return publish(request, members, by_distance(peers, Key(bytes(32))), stages=stages)


def request_of(plan: Plan) -> PlanRequest:
    """What a plan's members have agreed on, if the plan is right."""
    return PlanRequest(
        round=plan.round,
        epoch=plan.epoch,
        lineage=plan.lineage,
        numel=plan.numel,
        numbers=AveragingNumbers(
            codec=plan.codec,
            chunk_numel=plan.chunk_numel,
            stall_timeout_s=plan.stall_timeout_s,
            round_timeout_s=plan.round_timeout_s,
            weight_share=plan.weight_share,
        ),
    )


class Round:
    """A round with random vectors in a pump."""

    def __init__(self, plan: Plan, *, seed: int = 0, stagger_s: float = 0.0, **pump: Any) -> None:
        self.plan = plan
        self.random = Random(seed)
        numpy_random = np.random.default_rng(seed)
        n = len(plan.members)
        self.vectors = numpy_random.standard_normal((n, plan.numel)).astype(np.float32)
        self.before = self.vectors.copy()
        self.vectors.flags.writeable = False
        self.results = np.full((n, plan.numel), np.nan, dtype=np.float32)
        self.traces = [Trace() for _ in range(n)]
        self.books = [DistanceBook(bytes([i])) for i in range(n)]
        kind = Butterfly if plan.stages == 1 else Grid
        self.machines = {
            peer: kind(
                peer,
                plan,
                RoundInput(
                    self.vectors[i], self.results[i], codec_of(plan.codec, (plan.numel,)), distances=self.books[i]
                ),
                trace=self.traces[i],
            )
            for i, peer in enumerate(plan.peers)
        }
        self.pump = Pump(self.machines, self.random, **pump)
        self.began = self.pump.now
        self.starts = {p: self.began + self.random.uniform(0, stagger_s) for p in plan.peers}
        inner = self.pump.before

        def start_when_due(pump: Pump, peer: PeerId, event: Any) -> None:
            for other, at in list(self.starts.items()):
                if at <= pump.now:
                    self._start(other)
            if inner is not None:
                inner(pump, peer, event)

        self.pump.before = start_when_due
        for peer, at in self.starts.items():
            self.pump.push(at, peer, Tick())

    def _start(self, peer: PeerId) -> None:
        if peer not in self.pump.frozen and self.starts.pop(peer, None) is not None and peer not in self.pump.dead:
            self.pump.say(peer, self.machines[peer].start(self.pump.now))

    def run(self) -> "Round":
        self.pump.run()
        return self
