"""One peer of `potluck bench averaging`: a host, a vector, and one butterfly round after the other."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from core.averaging.election import make_plan
from core.averaging.messages import ROUND_MESSAGES
from core.averaging.outcome import Outcome, RoundFailed, RoundFinished
from core.averaging.plan import Member, Plan
from core.averaging.topologies.butterfly import Butterfly
from core.base.content import digest
from core.base.ids import Key, hashed_key
from core.base.machine import Lost, Received, Tick
from core.base.manifest import AveragingNumbers
from core.base.trace import Trace
from core.bench.children import say, told
from core.bench.stage import make_host, peer_id
from core.net.clock import Clock


class Setup(msgspec.Struct, frozen=True, kw_only=True, tag="setup"):
    """Be peer number `index` of `peers`."""

    index: int
    peers: int
    numel: int
    codec: str
    chunk_numel: int


class Meet(msgspec.Struct, frozen=True, kw_only=True, tag="meet"):
    """The others listen on these ports, in order of their numbers."""

    ports: list[int]


class Go(msgspec.Struct, frozen=True, kw_only=True, tag="go"):
    """Begin round `number` at `at`, unix seconds."""

    number: int
    at: float


class Listening(msgspec.Struct, frozen=True, kw_only=True):
    """The peer is ready."""

    port: int


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """How a round went for one peer."""

    seconds: float
    cpu_s: float
    wire_bytes: int
    """Sent, with TLS."""
    missing_chunks: int
    """Chunks of contributions that the mean lacks."""
    failed: str
    relative_error: float
    digest: str
    """Of the result: equal on all peers."""


class Rounds:
    """The machine: whichever round is running."""

    def __init__(self) -> None:
        self.round: Butterfly | None = None

    @property
    def deadline(self) -> float | None:
        """The round's."""
        return None if self.round is None else self.round.deadline

    def handle(self, event: Any, now: float) -> Sequence[Any]:
        """Pass on what concerns a round."""
        if self.round is None or not isinstance(event, Received | Tick | Lost):
            return []
        return self.round.handle(event, now)


def contribution(index: int, numel: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """The vector of peer number `index`, shape (numel,)."""
    return np.random.default_rng(index).standard_normal(numel, dtype=np.float32)


def samples_of(index: int) -> int:
    """Its weight: none equals another."""
    return 1000 + 100 * index


def exact_mean(peers: int, numel: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The weighted mean of all vectors, shape (numel,)."""
    total = np.zeros(numel)
    for index in range(peers):
        total += samples_of(index) * contribution(index, numel).astype(np.float64)
    total /= sum(samples_of(index) for index in range(peers))
    return total


def plan_of(setup: Setup, number: int) -> Plan:
    """Everybody works out the same plan."""
    members = [Member(peer_id(index), samples_of(index), 1.0) for index in range(setup.peers)]
    numbers = AveragingNumbers(
        codec=setup.codec, chunk_numel=setup.chunk_numel, stall_timeout_s=20.0, round_timeout_s=120.0
    )
    name = hashed_key(b"bench round", number.to_bytes(4, "big"))
    return make_plan(
        members,
        numbers,
        round_=name,
        key=Key(name),
        leader=peer_id(0),
        state=(number, bytes(32), 0),
        numel=setup.numel,
        topology="butterfly",
    )


async def serve(setup: Setup) -> None:
    """Take part until stdin ends."""
    ended: asyncio.Queue[RoundFinished | RoundFailed] = asyncio.Queue()
    clock, machine = Clock(), Rounds()
    host = make_host(
        setup.index, machine, messages=ROUND_MESSAGES, clock=clock, on_event=lambda event, _: ended.put_nowait(event)
    )
    own, result = contribution(setup.index, setup.numel), np.empty(setup.numel, dtype=np.float32)
    exact = exact_mean(setup.peers, setup.numel)
    port = await host.start(bind="127.0.0.1")
    say(Listening(port=port))
    meet = await told(Meet)
    for index, other in enumerate(meet.ports if meet is not None else []):
        host.learn(peer_id(index), "127.0.0.1", other)
    while (go := await told(Go)) is not None:
        result.fill(np.nan)
        sent, cpu = host.stats.bytes_sent, time.process_time()
        plan = plan_of(setup, go.number)
        machine.round = Butterfly(peer_id(setup.index), plan, contribution=own, result=result, trace=Trace())
        await asyncio.sleep(max(0.0, go.at - clock.now()))
        host.perform(machine.round.start(clock.now()))
        event = await ended.get()
        seconds, cpu = clock.now() - go.at, time.process_time() - cpu
        outcome: Outcome | None = event.outcome if isinstance(event, RoundFinished) else None
        say(
            Done(
                seconds=seconds,
                cpu_s=cpu,
                wire_bytes=host.stats.bytes_sent - sent,
                missing_chunks=sum(chunks for _, chunks in outcome.missing) if outcome else 0,
                failed="" if isinstance(event, RoundFinished) else event.reason,
                relative_error=float(np.linalg.norm(result - exact) / np.linalg.norm(exact)) if outcome else -1.0,
                digest=digest(result.data.cast("B")).hex(),
            )
        )
    await host.close()


async def main() -> None:
    """Wait to be told who to be."""
    setup = await told(Setup)
    if setup is not None:
        await serve(setup)


if __name__ == "__main__":
    asyncio.run(main())
