"""`python -m tests.bench dht`: stores and gets between real nodes over UDP here, and what happens if some fall silent.

The measurement is that of hivemind's DHT in the project's notes: as many keys, values and operations at once, nodes in
as many processes, one process writes, another reads, and the last ones fall silent.
"""

import argparse
import asyncio
import statistics
import sys
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import psutil

from core.base.problems import BadInput
from tests.bench.children import Child, children
from tests.bench.dht import footprint as dht_footprint
from tests.bench.dht import rival as dht_rival
from tests.bench.dht.peer import AskUsage, Begin, DhtWork, NodesJoined, Used, Worked

START_S = 120.0
WORK_S = 600.0
KEYS = 200
AT_ONCE = 32
SUBKEYS = 8
SETTLE_S = 7.0


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of the operations of one kind."""

    p50_ms: float
    p95_ms: float
    per_s: float
    ok: int
    n: int


class Once(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement: figures by the name of the operation."""

    figures: dict[str, Figures]
    cpu_ms_per_op: float
    """Processor time of all processes, while storing and getting one after another."""


class LatencySpread(msgspec.Struct, frozen=True):
    """Spread of one figure over several measurements."""

    median: float
    least: float
    most: float


class DhtFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of the measurements, each by "operation.figure"."""

    bench: str = "dht"
    nodes: int
    processes: int
    repeats: int
    ours: dict[str, LatencySpread]
    hivemind: dict[str, LatencySpread]
    times_faster: dict[str, float]
    """Ours by hivemind's, of the medians, in operations a second."""
    all_found: bool
    """Every store was held and every get found what was stored."""


def run(args: argparse.Namespace) -> int:
    """Measure and print; the exit code is 1 if anything that was stored was not found."""
    if args.footprint:
        footprint = asyncio.run(dht_footprint.measure(args.nodes, seconds=float(args.seconds)))
        sys.stdout.write(msgspec.json.encode(footprint).decode() + "\n")
        return 0
    if (args.hivemind is None) != (args.peers_scripts is None):
        raise BadInput("Name both the Python that has hivemind and the folder of the scripts that measure it.")
    outcome = asyncio.run(compare(args))
    sys.stdout.write((msgspec.json.encode(outcome).decode() if args.json else _sentences(outcome)) + "\n")
    return 0 if outcome.all_found else 1


async def compare(args: argparse.Namespace) -> DhtFigures:
    """Measure this program, hivemind, this program again, and so on."""
    ours: list[Once] = []
    theirs: list[dict[str, Any]] = []
    for _ in range(args.repeats):
        ours.append(await measure(args.nodes, processes=args.processes, silent=args.freeze))
        if args.hivemind is not None:
            theirs.append(
                await dht_rival.measure(
                    Path(args.hivemind),
                    Path(args.peers_scripts),
                    nodes=args.nodes,
                    processes=args.processes,
                    freeze=args.hivemind_freeze,
                )
            )
    return _outcome(args, ours, theirs)


async def measure(nodes: int, *, processes: int, silent: float, keys: int = KEYS) -> Once:
    """One swarm from its first node to its end.

    Args:
        nodes: In all.
        processes: At least 2; the first writes, the second reads.
        silent: The share of the processes that falls silent in the end, at most as many as leave two; 0: none.
        keys: Stored one after another; twice as many at once, a quarter with subkeys.

    Raises:
        BadInput: fewer nodes than processes.
        Problem: a process ended or hangs.
    """
    if nodes < processes:
        raise BadInput("Each process needs a node at least.")
    async with children("tests.bench.dht.peer", processes) as group:
        await _begin(group, nodes)
        await asyncio.sleep(SETTLE_S)
        figures, cpu_ms = await _all_alive(group, keys)
        victims = min(round(processes * silent), processes - 2)
        if victims:
            with _silenced(group[-victims:]):
                figures |= await _some_silent(group, keys)
        return Once(figures=figures, cpu_ms_per_op=cpu_ms)


async def _begin(group: Sequence[Child], nodes: int) -> None:
    """Node 0 first, then all others through it, as in the measurement of hivemind."""
    share, more = divmod(nodes, len(group))
    seed = await _ask(group[0], Begin(first=0, count=1, seed_port=0), NodesJoined)
    first, waiting = 1, []
    for index, child in enumerate(group):
        count = share + (index < more) - (index == 0)
        if count:
            waiting.append(_ask(child, Begin(first=first, count=count, seed_port=seed.port), NodesJoined))
        first += count
    await asyncio.gather(*waiting)


async def _all_alive(group: Sequence[Child], keys: int) -> tuple[dict[str, Figures], float]:
    writer, reader, other = group[0], group[1], group[2 % len(group)]
    one, many = _names("key", keys), _names("par", 2 * keys)
    several = _names("sub", max(8, keys // 4))
    began = await _cpu_s(group)
    figures = {
        "store_seq": await _work(writer, DhtWork(kind="store", names=one, at_once=1)),
        "get_seq": await _work(reader, DhtWork(kind="get", names=one, at_once=1, quorum=1)),
    }
    cpu_ms = 1000 * (await _cpu_s(group) - began) / (2 * keys)
    figures |= {
        "store_par": await _work(writer, DhtWork(kind="store", names=many, at_once=AT_ONCE)),
        "get_par": await _work(other, DhtWork(kind="get", names=many, at_once=AT_ONCE, quorum=1)),
        "store_8_subkeys": await _work(writer, DhtWork(kind="store", names=several, at_once=1, subkeys=SUBKEYS)),
        "get_8_subkeys": await _work(reader, DhtWork(kind="get", names=several, at_once=1, subkeys=SUBKEYS, quorum=1)),
        "get_all_holders": await _work(reader, DhtWork(kind="get", names=many[:keys], at_once=1)),
    }
    return figures, cpu_ms


async def _some_silent(group: Sequence[Child], keys: int) -> dict[str, Figures]:
    one, new = _names("key", keys), _names("new", max(8, keys // 4))
    return {
        "get_silent": await _work(group[1], DhtWork(kind="get", names=one, at_once=1, quorum=1, seed=1)),
        "get_silent_again": await _work(group[0], DhtWork(kind="get", names=one, at_once=8, quorum=1, seed=2)),
        "store_silent": await _work(group[0], DhtWork(kind="store", names=new, at_once=1, seed=3)),
    }


def _names(kind: str, count: int) -> list[str]:
    return [f"{kind}{index}" for index in range(count)]


async def _ask(child: Child, order: msgspec.Struct, kind: Any) -> Any:
    child.tell(order)
    return await child.hear(kind, timeout_s=START_S)


async def _work(child: Child, order: DhtWork) -> Figures:
    child.tell(order)
    worked = await child.hear(Worked, timeout_s=WORK_S)
    ranked = sorted(worked.seconds)
    return Figures(
        p50_ms=round(1000 * ranked[len(ranked) // 2], 2),
        p95_ms=round(1000 * ranked[min(len(ranked) - 1, int(0.95 * len(ranked)))], 2),
        per_s=round(len(ranked) / worked.wall_s, 1),
        ok=worked.good,
        n=len(ranked),
    )


async def _cpu_s(group: Sequence[Child]) -> float:
    used = [await _ask(child, AskUsage(), Used) for child in group]
    return float(sum(one.cpu_s for one in used))


@contextmanager
def _silenced(group: Sequence[Child]) -> Any:
    """They answer nothing, as a computer that lost its network; they run again afterwards."""
    stopped = [psutil.Process(child.pid) for child in group]
    try:
        for process in stopped:
            process.suspend()
        yield
    finally:
        for process in stopped:
            process.resume()


def _outcome(args: argparse.Namespace, ours: Sequence[Once], theirs: Sequence[dict[str, Any]]) -> DhtFigures:
    own = [{**msgspec.to_builtins(once.figures), "cpu_ms_per_op": once.cpu_ms_per_op} for once in ours]
    mine, rival = _spreads(own), _spreads(theirs)
    return DhtFigures(
        nodes=args.nodes,
        processes=args.processes,
        repeats=len(ours),
        ours=mine,
        hivemind=rival,
        times_faster={
            name: round(mine[name].median / rival[name].median, 2)
            for name in mine
            if name.endswith(".per_s") and name in rival
        },
        all_found=all(figures.ok == figures.n for once in ours for figures in once.figures.values()),
    )


def _spreads(measured: Sequence[dict[str, Any]]) -> dict[str, LatencySpread]:
    """Medians of every number that all measurements have."""
    flat = [dht_rival.flattened(one) for one in measured]
    names = [name for name in (flat[0] if flat else {}) if all(name in one for one in flat)]
    return {name: _spread([one[name] for one in flat]) for name in names}


def _spread(values: Sequence[float]) -> LatencySpread:
    return LatencySpread(round(statistics.median(values), 2), min(values), max(values))


def _sentences(outcome: DhtFigures) -> str:
    lines = [f"{outcome.nodes} nodes in {outcome.processes} processes, {outcome.repeats} times; medians (least..most)"]
    for name, spread in outcome.ours.items():
        if name.endswith((".ok", ".n")) and name not in outcome.hivemind:
            continue
        line = f"  {name:28} {_shown(spread):28}"
        if name in outcome.hivemind:
            line += f" hivemind {_shown(outcome.hivemind[name]):28}"
        if name in outcome.times_faster:
            line += f" {outcome.times_faster[name]:.1f} times"
        lines.append(line.rstrip())
    lines += [
        f"  {name}: only {done.median:g} of {spread.median:g}"
        for name, spread in ((name, outcome.ours[f"{name}.n"]) for name in _kinds(outcome))
        if (done := outcome.ours[f"{name}.ok"]).least < spread.least
    ]
    lines.append("All that was stored was found." if outcome.all_found else "NOT all that was stored was found.")
    return "\n".join(lines)


def _kinds(outcome: DhtFigures) -> list[str]:
    return [name.removesuffix(".n") for name in outcome.ours if name.endswith(".n")]


def _shown(spread: LatencySpread) -> str:
    middle = f"{spread.median:.2f}"
    return middle if spread.least == spread.most else f"{middle} ({spread.least:.2f}..{spread.most:.2f})"
