"""`python -m tests.bench averaging`: rounds of butterfly all-reduce between processes, each with a newly formed group.

On this computer's loopback, or each process on a line of its own (`--fleet`); beside hivemind and gloo where they are
named.  All traffic between this program's processes is encrypted.
"""

import argparse
import asyncio
import io
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec

from core.base.problems import BadInput, Problem
from core.codecs.registry import ADAPTIVE, FEEDBACK
from core.net.clock import Clock
from core.system.progress_bar import ProgressBar
from tests.bench.averaging import rivals
from tests.bench.averaging.messages import Ended, Meet, Met, PeerListening, RoundDone, Setup, Show, StartRound
from tests.bench.averaging.report import AveragingReport, beside_calls, beside_strangers, report_of, sentences
from tests.bench.children import Child, children, hear_all
from tests.bench.network.fleets import Computer, fleet_of, in_full
from tests.bench.network.limits import flown
from tests.bench.network.lines import Lines
from tests.bench.network.pings import ping_report, pinging, pings_of

START_S = 180.0
ROUND_S = 300.0
PEERS = 4
WARM = 8
LEAD_S = 0.1
"""From the command to the common start."""
CALLS_ALONE_S = 10.0
"""The same where peers ask each other beside the round: until then these calls are alone."""


class AveragingJob(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of a measurement of averaging."""

    numel: int
    codec: str
    rounds: int
    warm: int = 0
    """Rounds before those that count: the peers measure their lines meanwhile."""
    rtt_s: float = 0.0
    """How long a packet takes there and back, beside the lines."""
    ping: bool = False
    """Whether another program pings through each line meanwhile."""
    strangers: bool = False
    """Whether every second round is one of a collaboration that strangers may join."""
    calls: bool = False
    """Whether peers ask each other beside every second round, as trainers ask hosts of experts."""


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
    text = msgspec.json.encode(report).decode() if args.json else sentences(report)
    sys.stdout.write(text + "\n")
    if problem is not None:
        sys.stdout.flush()
        raise problem
    reports = [one for one in (report, report.strangers, report.calls) if one is not None]
    return 0 if all(one.is_sound for one in reports) else 1


async def measure(peers: int, job: AveragingJob, *, bar: ProgressBar | None = None) -> AveragingReport:
    """Run rounds between `peers` processes on loopback.

    Raises:
        Problem: a process ended or hangs.
    """
    bar = bar or ProgressBar(stream=io.StringIO())
    bar.show(0.0, f"starting {peers} peers")
    setups = [Setup(index=index, peers=peers, numel=job.numel, codec=job.codec) for index in range(peers)]
    async with children("tests.bench.averaging.peer", peers) as group:
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
    with Lines(fleet, rtt_s=job.rtt_s) as lines:
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
            group = await stack.enter_async_context(
                children("tests.bench.averaging.peer", len(fleet), inside=lines.inside)
            )
            results = await _rounds(group, setups, job, bar, pingers=pingers)
            beside = await pings_of(pingers)
        report = _report(results, job)
        report = msgspec.structs.replace(report, pings=ping_report(idle, beside) if job.ping else None)
        bar.show(1.0, "plain TCP with the bytes of the same plan", part="tcp")
        limits = await flown(
            lines, fleet, job.numel, codec=job.codec, last=results[0][-1][0], seconds=report.seconds.median
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
    elif args.warm is not None or args.ping or args.rtt:
        raise BadInput("Only a fleet has lines.", hint="Add --fleet, or leave --warm, --ping and --rtt out.")
    if args.rtt and args.ping:
        raise BadInput("Pings come from the hub, which hears nothing with --rtt.", hint="Leave one of them out.")
    if args.strangers and args.codec in FEEDBACK:
        raise BadInput(f"Strangers prove no means that travel as {args.codec}.", hint="Choose another codec.")
    if (args.hivemind is None) != (args.peers_scripts is None):
        raise BadInput("hivemind is measured with --hivemind and --peers-scripts.", hint="Add the other one.")
    if args.hivemind is not None:
        rivals.check(Path(args.hivemind), Path(args.peers_scripts), on_lines=args.fleet is not None)


async def measure_as_asked(args: argparse.Namespace, bar: ProgressBar) -> AveragingReport:
    """Measure this program's rounds as the command line asks, on loopback or on a fleet's lines.

    Args:
        args: The options of `python -m tests.bench averaging`.
        bar: Shows the progress.
    """
    job = AveragingJob(
        numel=args.numel, codec=args.codec, rounds=args.rounds, strangers=args.strangers, calls=args.calls
    )
    if args.fleet is not None:
        warm = WARM if args.warm is None else args.warm
        job = msgspec.structs.replace(job, warm=warm, ping=args.ping, rtt_s=args.rtt / 1000)
        return await measure_fleet(fleet_of(args.fleet), job, bar=bar)
    return await measure(PEERS if args.peers is None else args.peers, job, bar=bar)


async def beside_hivemind(
    report: AveragingReport, args: argparse.Namespace, python: Path, scripts: Path
) -> AveragingReport:
    """Measure hivemind in the same hour on the same computer, and add its figures to the report.

    Args:
        report: This program's figures.
        args: The options of `python -m tests.bench averaging`.
        python: Interpreter with hivemind.
        scripts: Folder of the rivals' scripts.
    """
    ours = {"seconds": report.seconds.median, "cpu_s": report.cpu_s.median}
    if args.fleet:
        found = await rivals.hivemind_on_lines(
            python, scripts, fleet=in_full(args.fleet), numel=args.numel, rounds=min(args.rounds, 3)
        )
        ratios = {**report.ratios, "hivemind": round(ours["seconds"] / found["best_s"], 3)}
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
    ratios = {**report.ratios, **ratios}
    return msgspec.structs.replace(report, hivemind=found, gloo=gloo, ratios=ratios)


async def _rounds(
    group: Sequence[Child],
    setups: Sequence[Setup],
    job: AveragingJob,
    bar: ProgressBar,
    *,
    pingers: Sequence[Child] = (),
) -> list[list[list[RoundDone]]]:
    """The rounds that count: those among friends, and where they are asked for those among strangers, in turns."""
    for child, setup in zip(group, setups, strict=True):
        child.tell(setup)
    ports = [listening.port for listening in await hear_all(group, PeerListening, timeout_s=START_S)]
    addresses = [(setup.bind, port) for setup, port in zip(setups, ports, strict=True)]
    for child in group:
        child.tell(Meet(addresses=addresses, helpers=[setup.index for setup in setups if setup.helps]))
    await hear_all(group, Met, timeout_s=START_S)
    clock = Clock()
    kinds = [{}, *([{"strangers": True}] if job.strangers else []), *([{"calls": True}] if job.calls else [])]
    results: list[list[list[RoundDone]]] = [[] for _ in kinds]
    facts: list[bytes] = []
    total = job.warm + job.rounds
    for number in range(total * len(kinds)):
        turn, kind = divmod(number, len(kinds))
        if number == job.warm * len(kinds):
            await pings_of(pingers)  # what came back beside the rounds before is forgotten
        warm, counts = f"round {turn + 1} of {job.warm} to warm up", f"round {turn + 1 - job.warm} of {job.rounds}"
        bar.show(turn / total, warm if turn < job.warm else counts, part="rounds")
        lead_s = CALLS_ALONE_S if "calls" in kinds[kind] else LEAD_S
        go = StartRound(number=number, at=clock.now() + lead_s, facts=facts, **kinds[kind])
        done = await one_round(group, go)
        facts = [peer.facts for peer in done]
        results[kind].append(done)
    return [rounds[job.warm :] for rounds in results]


def _report(results: Sequence[Sequence[Sequence[RoundDone]]], job: AveragingJob) -> AveragingReport:
    report, *others = (report_of(rounds, numel=job.numel, codec=job.codec) for rounds in results)
    if job.calls:
        report = beside_calls(report, others.pop(), results[-1])
    return beside_strangers(report, others[0]) if others else report


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
