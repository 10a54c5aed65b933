"""Faults that must be noticed, or must not be noticed at all: frozen peers, pulled cables, dying relays."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, dataclass
from typing import Any

from tests.lab.crew import Member, public_hosts, two_homes
from tests.lab.ground import Ground, Kind

NOTICED_S = 15.0
TAKEN_OVER_S = 2.0
SETTLE_S = 8.0
RTT_S = 0.040
LINE = "50mbit"
Crew = tuple[list[Member], Member, Member]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One fault."""

    what: str
    seconds: float | None
    """How long it took; None: it never ended well."""
    at_most_s: float
    note: str = ""

    @property
    def kept(self) -> bool:
        return self.seconds is not None and self.seconds <= self.at_most_s

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"kept": self.kept}


def run() -> list[Outcome]:
    return asyncio.run(_run())


def table(outcomes: list[Outcome]) -> str:
    return "\n".join(
        f"{'ok' if outcome.kept else '!!'} {outcome.what:44}"
        f"{'never' if outcome.seconds is None else f'{outcome.seconds:.2f} s':>8}  (at most {outcome.at_most_s:.0f} s)"
        f" {outcome.note}"
        for outcome in outcomes
    )


async def _run() -> list[Outcome]:
    with Ground() as ground:
        ground.set_delay(RTT_S)
        ground.set_rate(LINE)
        return [
            await frozen_peer(ground),
            await pulled_cable(ground),
            await relay_ends(ground, "a relay that dies", lambda relay: relay.process.kill()),
            await relay_ends(ground, "a relay that freezes", lambda relay: relay.process.send_signal(signal.SIGSTOP)),
            await relay_ends(ground, "a relay that leaves politely", lambda relay: relay.process.stdin.close()),
        ]


@contextlib.asynccontextmanager
async def _crew(ground: Ground, a: Kind, b: Kind) -> AsyncIterator[Crew]:
    """A pair that talks."""
    ground.set_home("a", a)
    ground.set_home("b", b)
    async with public_hosts(ground) as hosts, two_homes(ground, hosts, settle_s=SETTLE_S) as (caller, called):
        caller.order("dial", peer=called.name, patience_s=12.0, watch_s=1.0)
        told = await caller.hear(timeout_s=20)
        if told["event"] != "answered":
            raise RuntimeError(f"{a} does not reach {b}: {told['reason']}")
        yield hosts, caller, called


async def frozen_peer(ground: Ground) -> Outcome:
    """SIGSTOP: its system goes on acknowledging."""
    async with _crew(ground, Kind.KEPT, Kind.KEPT) as (_, caller, called):
        called.process.send_signal(signal.SIGSTOP)
        try:
            return await _noticed(caller, called, "a frozen peer is noticed")
        finally:
            called.process.send_signal(signal.SIGCONT)


async def pulled_cable(ground: Ground) -> Outcome:
    """In the middle of a chunk."""
    async with _crew(ground, Kind.KEPT, Kind.KEPT) as (_, caller, called):
        caller.order("fill", peer=called.name, seconds=60.0)
        await asyncio.sleep(2)
        ground.cut("b", plugged=False)
        try:
            return await _noticed(caller, called, "a cable pulled in mid-chunk is noticed")
        finally:
            ground.cut("b", plugged=True)


async def _noticed(caller: Member, called: Member, what: str) -> Outcome:
    caller.order("await_lost", peer=called.name, patience_s=2 * NOTICED_S)
    told = await caller.hear(timeout_s=3 * NOTICED_S)
    return Outcome(what=what, seconds=told.get("seconds"), at_most_s=NOTICED_S)


async def relay_ends(ground: Ground, what: str, end: Callable[[Any], Any]) -> Outcome:
    """The transfer over it goes on over the second one; each chunk is answered, or the measurement does not end."""
    async with _crew(ground, Kind.SYMMETRIC, Kind.SYMMETRIC) as (hosts, caller, called):
        caller.order("load", peer=called.name, seconds=8.0)
        await asyncio.sleep(3)
        relay = await _busiest(hosts)
        end(relay)
        try:
            told = await caller.hear(timeout_s=40)
        except TimeoutError:
            return Outcome(what=what, seconds=None, at_most_s=TAKEN_OVER_S, note="chunks were lost")
        finally:
            with contextlib.suppress(ProcessLookupError):
                relay.process.kill()
        note = f"longest pause; {told['megabytes_per_s']:.1f} MB/s by {told['way']}"
        return Outcome(what=what, seconds=told["pause_s"], at_most_s=TAKEN_OVER_S, note=note)


async def _busiest(hosts: list[Member]) -> Member:
    loads = []
    for host in hosts:
        host.order("carries")
        loads.append((await host.hear(timeout_s=10))["circuits"])
    return hosts[loads.index(max(loads))]
