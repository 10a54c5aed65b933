"""`potluck bench averaging`: rounds of butterfly all-reduce between processes, each with a newly formed group.

On this computer's loopback, or each process on a line of its own (`--fleet`); beside hivemind and gloo where they are
named.  All traffic between this program's processes is encrypted.
"""

import argparse
import asyncio
import io
import os
import statistics
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec

from core.api.numbers import amount
from core.averaging.codecs.registry import ADAPTIVE
from core.base.problems import BadInput, Problem
from core.bench import averaging_rivals as rivals
from core.bench.children import Child, children, hear_all
from core.bench.fleets import Computer, fleet_of, in_full
from core.bench.limits import FleetLimits, flown
from core.bench.lines import Lines
from core.bench.messages import Ended, Meet, Met, PeerListening, RoundDone, Setup, Show, StartRound
from core.bench.pings import PingReport, ping_report, pinging, pings_of
from core.bench.spread import Spread
from core.net.clock import Clock
from core.system.progress_bar import ProgressBar

START_S = 180.0
ROUND_S = 300.0
PEERS = 4
WARM = 8
LEAD_S = 0.1
"""From the command to the common start."""


class AveragingReport(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of the measured averaging rounds."""

    bench: str = "averaging"
    peers: int
    numel: int
    codec: str
    rounds: int
    seconds: Spread
    """From the first member that knew the plan to the last that held the mean."""
    matchmaking_s: Spread
    """From the common start to the plan."""
    cpu_s: Spread
    """Of all processes, per round with its matchmaking."""
    wire_bytes: int
    """Sent by all peers in one round, TLS and all (median)."""
    relative_error: float
    """Against the exact mean in float64; the worst peer in the worst round."""
    identical: bool
    """All peers held the same bits after every round."""
    truncated_rounds: int
    """In which some contribution is missing in part."""
    failed_rounds: int
    """Number of rounds that some peer left without a mean, or in which the peers were not one group."""
    repeated: list[str]
    """Reasons of failed attempts that were followed by another."""
    memory: float
    """Memory of a round in units of the contribution: the mean (1), and the growth of a process."""
    cpus: int
    limits: FleetLimits | None = None
    """On a fleet's lines: what the lines allow."""
    pings: PingReport | None = None
    """Asked for on a fleet's lines: what another program on them feels of the rounds."""
    hivemind: dict[str, Any] = {}
    gloo: dict[str, Any] = {}
    ratios: dict[str, float] = {}
    """Ours over theirs, medians; below 1 is faster."""


class AveragingJob(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of a measurement of averaging."""

    numel: int
    codec: str
    rounds: int
    warm: int = 0
    """Rounds before those that count: the peers measure their lines meanwhile."""
    ping: bool = False
    """Whether another program pings through each line meanwhile."""


def run(args: argparse.Namespace) -> int:
    """Measure and print; the exit code is 1 if any round was truncated, failed or unequal.

    Raises:
        Problem: hivemind could not be measured; what was measured before is printed all the same.
    """
    check(args)
    bar = ProgressBar(json=args.json)
    problem: Problem | None = None
    try:
        report = asyncio.run(measure_as_asked(args, bar))
        if args.hivemind is not None:
            bar.show(1.0, "measuring hivemind, which takes minutes", part="hivemind")
            try:
                report = asyncio.run(beside_hivemind(report, args, Path(args.hivemind), Path(args.peers_scripts)))
            except Problem as its:
                problem = its
    finally:
        bar.clear()
    text = msgspec.json.encode(report).decode() if args.json else _sentences(report)
    sys.stdout.write(text + "\n")
    if problem is not None:
        sys.stdout.flush()
        raise problem
    return 0 if report.identical and not report.truncated_rounds and not report.failed_rounds else 1


async def measure(
    peers: int, *, numel: int, codec: str, rounds: int, bar: ProgressBar | None = None
) -> AveragingReport:
    """Run `rounds` rounds between `peers` processes on loopback.

    Raises:
        Problem: a process ended or hangs.
    """
    job = AveragingJob(numel=numel, codec=codec, rounds=rounds)
    bar = bar or ProgressBar(stream=io.StringIO())
    bar.show(0.0, f"starting {peers} peers")
    async with children("core.bench.peer", peers) as group:
        setups = [Setup(index=index, peers=peers, numel=numel, codec=codec) for index in range(peers)]
        return _report(await _rounds(group, setups, job, bar), job)


async def measure_fleet(
    fleet: Sequence[Computer], job: AveragingJob, *, bar: ProgressBar | None = None
) -> AveragingReport:
    """Run rounds between processes on lines of their own, which they are not told; as root.

    Raises:
        UserProblem: there can be no such lines here.
        Problem: a process ended or hangs.
    """
    bar = bar or ProgressBar(stream=io.StringIO())
    bar.show(0.0, f"starting {len(fleet)} peers on lines of their own")
    with Lines(fleet) as lines:
        setups = [
            Setup(
                index=index,
                peers=len(fleet),
                numel=job.numel,
                codec=job.codec,
                bind=lines.address(index),
                client=computer.client,
                helps=computer.helps,
                round_s=ROUND_S,
            )
            for index, computer in enumerate(fleet)
        ]
        async with AsyncExitStack() as stack:
            pingers = await stack.enter_async_context(pinging(lines, len(fleet))) if job.ping else ()
            idle = await pings_of(pingers)
            group = await stack.enter_async_context(children("core.bench.peer", len(fleet), inside=lines.inside))
            results = await _rounds(group, setups, job, bar, pingers=pingers)
            beside = await pings_of(pingers)
        report = _report(results, job)
        report = msgspec.structs.replace(report, pings=ping_report(idle, beside) if job.ping else None)
        bar.show(1.0, "plain TCP with the bytes of the same plan", part="tcp")
        limits = await flown(
            lines, fleet, job.numel, codec=job.codec, last=results[-1][0], seconds=report.seconds.median
        )
    return msgspec.structs.replace(report, limits=limits)


def check(args: argparse.Namespace) -> None:
    """Refuse what cannot be measured before anything is.

    Raises:
        BadInput: says what is wrong.
    """
    if args.fleet is not None:
        fleet = fleet_of(args.fleet)
        if args.codec == ADAPTIVE and any(computer.helps for computer in fleet):
            raise BadInput(
                "With adaptive nobody can help: it goes by the sizes of tensors, which helpers do not know.",
                hint="Choose another codec, or a fleet without helpers (a).",
            )
        if args.peers is not None:
            raise BadInput("A fleet says how many peers there are.", hint="Leave --peers or --fleet out.")
    elif args.warm is not None:
        raise BadInput("Rounds to warm up are for fleets.", hint="Add --fleet, or leave --warm out.")
    elif args.ping:
        raise BadInput("Pings go through the lines of a fleet.", hint="Add --fleet, or leave --ping out.")
    if (args.hivemind is None) != (args.peers_scripts is None):
        raise BadInput("hivemind is measured with --hivemind and --peers-scripts.", hint="Add the other one.")
    if args.hivemind is not None:
        rivals.check(Path(args.hivemind), Path(args.peers_scripts), on_lines=args.fleet is not None)


async def measure_as_asked(args: argparse.Namespace, bar: ProgressBar) -> AveragingReport:
    """Measure this program's rounds as the command line asks, on loopback or on a fleet's lines.

    Args:
        args: The options of `potluck bench averaging`.
        bar: Shows the progress.
    """
    if args.fleet is not None:
        warm = WARM if args.warm is None else args.warm
        job = AveragingJob(numel=args.numel, codec=args.codec, rounds=args.rounds, warm=warm, ping=args.ping)
        return await measure_fleet(fleet_of(args.fleet), job, bar=bar)
    peers = PEERS if args.peers is None else args.peers
    return await measure(peers, numel=args.numel, codec=args.codec, rounds=args.rounds, bar=bar)


async def beside_hivemind(
    report: AveragingReport, args: argparse.Namespace, python: Path, scripts: Path
) -> AveragingReport:
    """Measure hivemind in the same hour on the same computer, and add its figures to the report.

    Args:
        report: This program's figures.
        args: The options of `potluck bench averaging`.
        python: Interpreter with hivemind.
        scripts: Folder of the rivals' scripts.
    """
    ours = {"seconds": report.seconds.median, "cpu_s": report.cpu_s.median}
    if args.fleet:
        found = await rivals.hivemind_on_lines(
            python, scripts, fleet=in_full(args.fleet), numel=args.numel, rounds=min(args.rounds, 3)
        )
        ratios = {"hivemind": round(ours["seconds"] / found["best_s"], 3)}
        return msgspec.structs.replace(report, hivemind=found, ratios=ratios)
    # Gloo takes seconds, hivemind minutes: where gloo is missing, that is said before them.
    gloo = await rivals.gloo(python, scripts, peers=report.peers, numel=report.numel)
    found = await rivals.hivemind(
        python, scripts, peers=report.peers, numel=report.numel, codec=report.codec, rounds=args.rounds
    )
    theirs = {
        "hivemind": (ours["seconds"], rivals.median_of(found.get("allreduce_s"))),
        "hivemind_cpu": (ours["cpu_s"], rivals.median_of(found.get("cpu_s_round"))),
        "gloo": (ours["seconds"], rivals.median_of(gloo.get("allreduce_s"))),
    }
    ratios = {name: round(mine / their, 3) for name, (mine, their) in theirs.items() if their}
    return msgspec.structs.replace(report, hivemind=found, gloo=gloo, ratios=ratios)


async def _rounds(
    group: Sequence[Child],
    setups: Sequence[Setup],
    job: AveragingJob,
    bar: ProgressBar,
    *,
    pingers: Sequence[Child] = (),
) -> list[list[RoundDone]]:
    for child, setup in zip(group, setups, strict=True):
        child.tell(setup)
    ports = [listening.port for listening in await hear_all(group, PeerListening, timeout_s=START_S)]
    addresses = [(setup.bind, port) for setup, port in zip(setups, ports, strict=True)]
    for child in group:
        child.tell(Meet(addresses=addresses, helpers=[setup.index for setup in setups if setup.helps]))
    await hear_all(group, Met, timeout_s=START_S)
    clock = Clock()
    results: list[list[RoundDone]] = []
    total = job.warm + job.rounds
    for number in range(total):
        if number == job.warm:
            await pings_of(pingers)  # what came back beside the rounds before is forgotten
        warm, counts = f"round {number + 1} of {job.warm} to warm up", f"round {number + 1 - job.warm} of {job.rounds}"
        bar.show(number / total, warm if number < job.warm else counts, part="rounds")
        facts = [peer.facts for peer in results[-1]] if results else []
        results.append(await one_round(group, StartRound(number=number, at=clock.now() + LEAD_S, facts=facts)))
    return results[job.warm :]


async def one_round(group: Sequence[Child], go: StartRound) -> list[RoundDone]:
    """Run one round; its means are compared only after all peers have ended it.

    Args:
        group: The peers' processes.
        go: Number of the round, its beginning and the facts of the last one.
    """
    for child in group:
        child.tell(go)
    await hear_all(group, Ended, timeout_s=ROUND_S)
    for child in group:
        child.tell(Show())
    return await hear_all(group, RoundDone, timeout_s=ROUND_S)


def _report(results: Sequence[Sequence[RoundDone]], job: AveragingJob) -> AveragingReport:
    whole = [done for done in results if all(peer.ended and peer.members == len(done) for peer in done)]
    return AveragingReport(
        peers=len(results[0]),
        numel=job.numel,
        codec=job.codec,
        rounds=len(results),
        seconds=_spread([max(p.ended_s for p in done) - min(p.formed_s for p in done) for done in whole]),
        matchmaking_s=_spread([max(peer.formed_s for peer in done) for done in whole]),
        cpu_s=_spread([sum(peer.cpu_s for peer in done) for done in results]),
        wire_bytes=int(statistics.median(sum(peer.wire_bytes for peer in done) for done in results)),
        relative_error=max((p.relative_error for done in whole for p in done if p.digest), default=-1.0),
        identical=all(len({peer.digest for peer in done if peer.digest}) == 1 for done in whole),
        truncated_rounds=sum(any(peer.missing_chunks for peer in done) for done in results),
        failed_rounds=len(results) - len(whole),
        repeated=sorted({peer.failed for done in results for peer in done if peer.failed}),
        memory=round(1 + max(peer.growth_bytes for done in results for peer in done) / (4 * job.numel), 3),
        cpus=os.cpu_count() or 1,
    )


def _spread(values: Sequence[float]) -> Spread:
    if not values:
        return Spread(-1.0, -1.0, -1.0)
    return Spread(round(statistics.median(values), 4), round(min(values), 4), round(max(values), 4))


def _sentences(report: AveragingReport) -> str:
    seconds, cpu, search = report.seconds, report.cpu_s, report.matchmaking_s
    same = "the same bits everywhere" if report.identical else "NOT the same everywhere"
    lines = [
        f"{report.peers} peers averaged {amount(report.numel)} numbers as {report.codec}, {report.rounds} times:",
        f"  {seconds.median:.3f} s a round, median ({seconds.least:.3f} to {seconds.most:.3f}),",
        f"  {search.median:.3f} s before it to find the group;",
        f"  all peers together, each round: {cpu.median:.2f} CPU seconds, {report.wire_bytes / 1e6:.1f} MB sent;",
        f"  relative error {report.relative_error:.1e} at most, {same};",
        f"  {report.truncated_rounds} rounds lacked a part of somebody's numbers, {report.failed_rounds} failed.",
    ]
    if report.limits is not None:
        lines.append("  " + report.limits.sentence)
    if report.pings is not None:
        lines.append("  " + report.pings.sentence)
    lines += [f"  {_ratio(name, value)}" for name, value in report.ratios.items()]
    return "\n".join(lines)


def _ratio(name: str, value: float) -> str:
    what = {
        "hivemind": "time over hivemind's",
        "hivemind_cpu": "CPU seconds over hivemind's",
        "gloo": "time over gloo's",
    }
    return f"{what[name]}: {value:.2f}"
