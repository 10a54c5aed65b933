"""Reachability of pairs: each kind of router against each, at each delay."""

import asyncio
import itertools
import sys
from dataclasses import asdict, dataclass, replace
from typing import Any

from tests.lab.crew import Member, public_hosts, two_homes
from tests.lab.ground import Ground, Kind

PATIENCE_S = 12.0
PUNCH_S = 0.3
BIRTHDAY_S = 1.0
SETTLE_S = 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Result for a pair of homes; `a` dials."""

    a: Kind
    b: Kind
    rtt_s: float
    way: str | None = None
    """The final way: tcp, quic, relay; None: no connection."""
    first_way: str | None = None
    first_byte_s: float | None = None
    direct_s: float | None = None
    megabytes_per_s: float | None = None
    failure: str = ""
    place: str | None = None
    """The other end's address."""
    ipv6: bool = False
    """Both homes have it."""
    a_knows: str = ""
    """Each one's findings before: reachability, TCP and UDP mapping, relays, and the seconds that they took."""
    b_knows: str = ""

    @property
    def connected(self) -> bool:
        return self.way is not None

    @property
    def direct(self) -> bool:
        return self.way not in {None, "relay"}

    @property
    def must_be_direct(self) -> bool:
        """All pairs but two symmetric ones, and those too where there is IPv6."""
        return self.ipv6 or not (self.a is Kind.SYMMETRIC and self.b is Kind.SYMMETRIC)

    @property
    def needs_birthday(self) -> bool:
        """One side is symmetric, and the other cannot simply be called."""
        return Kind.SYMMETRIC in {self.a, self.b} and Kind.PUBLIC not in {self.a, self.b}

    @property
    def target_s(self) -> float:
        """The first byte has to arrive within this."""
        return 3 * self.rtt_s + PUNCH_S + (BIRTHDAY_S if self.needs_birthday else 0.0)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {"target_s": round(self.target_s, 3), "must_be_direct": self.must_be_direct}


async def measure_cell(ground: Ground, hosts: list[Member], *, a: Kind, b: Kind, load_s: float) -> Cell:
    """One pair, with fresh peers and routers that remember nothing."""
    ground.set_home("a", a)
    ground.set_home("b", b)
    cell = Cell(a=a, b=b, rtt_s=ground.rtt_s, ipv6=bool(ground.ipv6))
    async with two_homes(ground, hosts, settle_s=SETTLE_S) as (caller, called):
        watch_s = 0.3 if not cell.must_be_direct else 2.0 + cell.target_s
        caller.order("dial", peer=called.name, patience_s=PATIENCE_S, watch_s=watch_s)
        told = await caller.hear(timeout_s=PATIENCE_S + watch_s + 5)
        selves = {"a_knows": _self(caller), "b_knows": _self(called)}
        if told.pop("event") == "failed":
            return replace(cell, failure=told["reason"], **selves)
        told.pop("answered_s")
        speed = None
        if load_s:
            caller.order("load", peer=called.name, seconds=load_s)
            speed = (await caller.hear(timeout_s=load_s + 60))["megabytes_per_s"]
    return replace(cell, megabytes_per_s=speed, **selves, **told)


async def measure(*, kinds: list[Kind], rtts_s: list[float], load_s: float = 0.0) -> list[Cell]:
    """All pairs of these kinds at these round trips."""
    cells = []
    with Ground() as ground:
        for rtt_s in rtts_s:
            ground.set_delay(rtt_s)
            async with public_hosts(ground) as hosts:
                for a, b in itertools.product(kinds, kinds):
                    cell = await measure_cell(ground, hosts, a=a, b=b, load_s=load_s)
                    sys.stderr.write(
                        f"{rtt_s * 1000:.0f} ms  {a} to {b}: {_text(cell)}   ({cell.a_knows}, {cell.b_knows})\n"
                    )
                    cells.append(cell)
    return cells


def _self(home: Member) -> str:
    known = home.known
    ipv6 = " IPv6 open" if known["ipv6"] else ""
    return f"{known['standing']} {known['tcp']}/{known['udp']} {known['relays']} {known['seconds']:.1f}s{ipv6}"


def run(*, kinds: list[Kind], rtts_s: list[float], load_s: float) -> list[Cell]:
    return asyncio.run(measure(kinds=kinds, rtts_s=rtts_s, load_s=load_s))


def table(cells: list[Cell]) -> str:
    """One grid a delay: way, first byte, and when it became direct, in milliseconds; throughput in MB/s."""
    lines = []
    for rtt_s in sorted({cell.rtt_s for cell in cells}):
        here = [cell for cell in cells if cell.rtt_s == rtt_s]
        kinds = list(dict.fromkeys(cell.b for cell in here))
        lines += [
            "",
            f"round trip {rtt_s * 1000:.0f} ms; a cell: way, first byte (its target) ms, direct after ms, MB/s",
        ]
        lines.append(f"{'caller, called':16}" + "".join(f"{kind:34}" for kind in kinds))
        for a in kinds:
            row = {cell.b: _text(cell) for cell in here if cell.a is a}
            lines.append(f"{a:16}" + "".join(f"{row.get(kind, ''):34}" for kind in kinds))
    direct, connected = sum(cell.direct for cell in cells), sum(cell.connected for cell in cells)
    in_time = sum(cell.first_byte_s is not None and cell.first_byte_s <= cell.target_s for cell in cells)
    lines += [
        "",
        f"{len(cells)} pairs: {connected} connected, {direct} directly, {in_time} with the first byte in time",
    ]
    return "\n".join(lines)


def shortfalls(cells: list[Cell]) -> list[str]:
    """Requirements that were not met: a way in each cell, a direct one in all but symmetric to symmetric.

    Where throughput was measured, TCP through routers has a tenth of the fastest TCP at that round trip: no line here
    is slower than another, and the processor is shared.
    """
    told = []
    for cell in cells:
        where = f"{cell.a} to {cell.b} at {cell.rtt_s * 1000:.0f} ms"
        if not cell.connected:
            told.append(f"{where}: no connection ({cell.failure})")
        elif cell.must_be_direct and not cell.direct:
            told.append(f"{where}: only {cell.way}")
        elif cell.way == "tcp" and cell.megabytes_per_s is not None:
            fastest = max(one.megabytes_per_s or 0.0 for one in cells if one.rtt_s == cell.rtt_s and one.way == "tcp")
            if cell.megabytes_per_s < fastest / 10:
                told.append(f"{where}: {cell.megabytes_per_s:.1f} MB/s where another pair has {fastest:.1f}")
    return told


def _text(cell: Cell) -> str:
    if not cell.connected or cell.first_byte_s is None:
        return f"none ({cell.failure})"[:33]
    way = cell.way if cell.first_way == cell.way else f"{cell.first_way}>{cell.way}"
    late = "" if cell.first_byte_s <= cell.target_s else "!"
    direct = "-" if cell.direct_s is None else f"{cell.direct_s * 1000:.0f}"
    speed = "" if cell.megabytes_per_s is None else f" {cell.megabytes_per_s:.1f}"
    return f"{way} {cell.first_byte_s * 1000:.0f}{late} ({cell.target_s * 1000:.0f}) {direct}{speed}"
