"""One large DHT: its peers join, store and read, a part of them vanishes, or all of them come and go for hours."""

import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from core.base.ids import Key, PeerId, hashed_key
from tests.sim.dht.churn import coming
from tests.sim.dht.swarm import DhtSwarm, Population, TimedOperation
from tests.sim.moments import Moment
from tests.sim.stays import TENTH_AN_HOUR, Pattern, Replaced
from tests.sim.world.latency import Latency

CALM_S = 60.0
"""After the last peer has joined: tables fill, and what newcomers should hold is handed to them."""
PATIENCE_S = 12.0
"""After the last call of a part; a lookup ends after 10 s."""
CALLS_AT_ONCE = 20
CALLS_EVERY_S = 0.5
IDLE_S = 120.0
NOTED_EVERY_S = 1.0
HOUR_S = 3600.0
LIFETIME_S = 86_400.0
HOURLY_GETS_MAX = 1000
QUANTILES: Final = (0.50, 0.95, 0.99)

Report = Callable[[str, float], None]
"""Takes the present activity, and the finished share of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DhtRunSettings:
    """Parameters of a run of one large DHT."""

    peers: int
    """Where the churn is of devices that come back, all of them; otherwise those that are there."""
    seed: int
    stores: int = 1000
    gets: int = 5000
    vanish: float = 0.25
    hours: float = 0.0
    """Duration of churn, instead of vanishing."""
    churn: Replaced | Pattern = TENTH_AN_HOUR
    quorum: int | None = 1
    """Quorum of each get: a key has one writer and does not change, so the first record that is found will do."""


class DhtRun:
    """Runs one large DHT and computes its figures.

    Args:
        settings: Parameters of the run.
        latency: Distances between peers; None: on a circle.
        report: Told about progress.
    """

    def __init__(self, settings: DhtRunSettings, *, latency: Latency | None, report: Report) -> None:
        self._settings = settings
        self._report = report
        self._first = settings.peers
        devices = settings.churn.devices if settings.hours and isinstance(settings.churn, Pattern) else None
        if devices is not None:
            self._first = max(4, round(settings.peers * devices.first))
        self.swarm = DhtSwarm(settings.seed, Population(peers=self._first), latency=latency)
        self.moments: list[Moment] = []
        """How things stood from second to second, for a picture."""
        self._lookups = 0
        self._last: Sequence[tuple[PeerId, Key]] = ()
        self._keys: dict[Key, PeerId] = {}
        self._walls: dict[str, float] = {}
        self._clock = time.perf_counter()
        self._background = (0.0, 0.0)
        """Messages and bytes a second while nobody asks for anything."""

    def run(self) -> dict[str, Any]:
        """Everything, as a dictionary for JSON."""
        settings, swarm = self._settings, self.swarm
        began = time.perf_counter()
        for there in swarm.join_all():
            self._report("joining", there / self._first)
            self._note()
        self._pass(CALM_S, "settling")
        result: dict[str, Any] = {"event": "dht", "peers": settings.peers, "seed": settings.seed}
        result["join"] = {"joined": swarm.joined, "messages_per_peer": round(swarm.world.messages / self._first, 1)}
        self._lap("join")
        result["idle"] = self._idle()
        result["stores"] = self._stores()
        result["gets_cold"] = self._gets("cold", self._readers(settings.gets))
        result["gets_warm"] = self._gets("warm", self._last)
        if settings.hours:
            result["pattern"] = settings.churn.name
            result["churn"] = self._hours()
        elif settings.vanish:
            gone = int(settings.vanish * len(swarm.up))
            for peer in swarm.random.sample(list(swarm.up), gone):
                swarm.end(peer)
            result["vanished"] = gone
            result["gets_after"] = self._gets("after vanishing", self._every_key())
        result["simulated_s"] = round(swarm.world.elapsed_s)
        result["messages"] = swarm.world.messages
        result["memory_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (
            1024 * 1024 if sys.platform == "darwin" else 1024
        )
        result["wall_s"] = {**self._walls, "all": round(time.perf_counter() - began, 1)}
        result["cpu_s"] = round(time.process_time(), 1)
        result["digest"] = swarm.world.digest.hex()
        return result

    # --- parts -------------------------------------------------------------------------------------------------------

    def _idle(self) -> dict[str, float]:
        world = self.swarm.world
        messages, sent = world.messages, world.bytes
        self._pass(IDLE_S, "idling")
        minutes = len(self.swarm.up) * IDLE_S / 60
        self._background = ((world.messages - messages) / IDLE_S, (world.bytes - sent) / IDLE_S)
        self._lap("idle")
        return {
            "messages_per_peer_and_minute": round((world.messages - messages) / minutes, 2),
            "bytes_per_peer_and_minute": round((world.bytes - sent) / minutes, 1),
        }

    def _stores(self) -> dict[str, Any]:
        swarm = self.swarm
        calls = []
        for number in range(self._settings.stores):
            key = hashed_key(b"sim", number.to_bytes(4, "big"))
            calls.append((swarm.random.choice(list(swarm.up)), key))
        self._keys = {key: peer for peer, key in calls}
        lifetime_s = LIFETIME_S if not self._settings.hours else max(LIFETIME_S, self._settings.hours * HOUR_S + 7200)

        def call(peer: PeerId, key: Key) -> TimedOperation:
            return swarm.store(peer, key, key, lifetime_s=lifetime_s)

        said, ended = self._all("stores", calls, call)
        replicas = sorted(operation.replicas for operation in ended)
        self._keys = {o.key: o.peer for o in ended if o.replicas}
        return {**said, "stored": len(self._keys), "replicas_least": replicas[0] if replicas else 0}

    def _gets(self, name: str, calls: Sequence[tuple[PeerId, Key]]) -> dict[str, Any]:
        swarm = self.swarm
        self._last = calls

        def call(peer: PeerId, key: Key) -> TimedOperation:
            return swarm.get(peer, key, quorum=self._settings.quorum)

        said, ended = self._all(name, calls, call)
        hits = sum(any(record.value == o.key for record in o.records) for o in ended)
        return {**said, "found": hits, "found_share": round(hits / max(len(calls), 1), 5)}

    def _hours(self) -> list[dict[str, Any]]:
        """Peers come and go; after each hour the keys are read."""
        settings, swarm = self._settings, self.swarm
        churn = coming(swarm, settings.churn, devices=settings.peers)
        said = []
        hours = int(settings.hours)
        for hour in range(hours):
            before = churn.comings, churn.goings
            churn.hour(self._pass, partial(self._report, f"hour {hour + 1} of {hours}"))
            calls = self._every_key()
            if len(calls) > HOURLY_GETS_MAX and hour + 1 < hours:
                calls = swarm.random.sample(calls, HOURLY_GETS_MAX)
            moved = {"came": churn.comings - before[0], "went": churn.goings - before[1], "live": len(swarm.up)}
            said.append({"hour": hour + 1, **moved, **self._gets(f"hour {hour + 1}", calls)})
        return said

    # --- inside ------------------------------------------------------------------------------------------------------

    def _readers(self, count: int) -> list[tuple[PeerId, Key]]:
        keys, peers = list(self._keys), list(self.swarm.up)
        random = self.swarm.random
        return [(random.choice(peers), random.choice(keys)) for _ in range(count)] if keys else []

    def _every_key(self) -> list[tuple[PeerId, Key]]:
        """Each stored key once, read by somebody."""
        peers = list(self.swarm.up)
        return [(self.swarm.random.choice(peers), key) for key in self._keys]

    def _all(
        self, name: str, calls: Sequence[tuple[PeerId, Key]], call: Callable[[PeerId, Key], TimedOperation]
    ) -> tuple[dict[str, Any], list[TimedOperation]]:
        world = self.swarm.world
        messages, sent, began = world.messages, world.bytes, world.elapsed_s
        operations: list[TimedOperation] = []
        for chunk in _chunks(calls, CALLS_AT_ONCE):
            operations += [call(peer, key) for peer, key in chunk]
            self._lookups += len(chunk)
            self._pass(CALLS_EVERY_S)
            self._report(name, len(operations) / len(calls))
        self._pass(PATIENCE_S)
        ended = [operation for operation in operations if operation.ended is not None]
        count = max(len(calls), 1)
        idle_messages, idle_bytes = (each * (world.elapsed_s - began) for each in self._background)
        said = {
            "count": len(calls),
            "ended": len(ended),
            "messages_each": round(max(0.0, world.messages - messages - idle_messages) / count, 1),
            "bytes_each": round(max(0.0, world.bytes - sent - idle_bytes) / count),
            "hops_mean": round(sum(o.hops for o in ended) / max(len(ended), 1), 2),
            **_quantiles_ms([o.seconds or 0.0 for o in ended]),
        }
        self._lap(name)
        return said, ended

    def _pass(self, seconds: float, name: str = "") -> None:
        """Let time go on, and note how things stand every second; `name`: report it as a part."""
        left = seconds
        while left > 0:
            self.swarm.world.run(min(left, NOTED_EVERY_S))
            left -= NOTED_EVERY_S
            self._note()
            if name:
                self._report(name, 1 - max(left, 0.0) / seconds)

    def _note(self) -> None:
        world = self.swarm.world
        if not self.moments or world.elapsed_s - self.moments[-1].at_s >= 1:
            self.moments.append(Moment(world.elapsed_s, len(self.swarm.up), self._lookups, world.bytes))

    def _lap(self, name: str) -> None:
        now = time.perf_counter()
        self._walls[name] = round(now - self._clock, 1)
        self._clock = now


def _chunks(calls: Sequence[tuple[PeerId, Key]], size: int) -> Iterator[Sequence[tuple[PeerId, Key]]]:
    for start in range(0, len(calls), size):
        yield calls[start : start + size]


def _quantiles_ms(seconds: list[float]) -> dict[str, int]:
    ordered = sorted(seconds)
    last = len(ordered) - 1
    return {
        f"p{round(100 * share)}_ms": round(1000 * ordered[min(int(share * len(ordered)), last)]) if ordered else 0
        for share in QUANTILES
    }
