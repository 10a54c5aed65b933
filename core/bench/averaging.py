"""`potluck bench averaging`: rounds of butterfly all-reduce between processes, over TLS on this computer's loopback."""

import argparse
import asyncio
import os
import statistics
import sys
from collections.abc import Sequence

import msgspec

from core.api.numbers import amount
from core.bench.children import Child, children, hear_all
from core.bench.peer import Done, Go, Listening, Meet, Setup
from core.net.clock import Clock

START_S = 120.0
ROUND_S = 180.0
LEAD_S = 0.2
"""From the command to the common start."""
CHUNK_NUMEL = 65_536


class Spread(msgspec.Struct, frozen=True):
    """Of several rounds."""

    median: float
    least: float
    most: float


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured."""

    bench: str = "averaging"
    peers: int
    numel: int
    codec: str
    rounds: int
    seconds: Spread
    """From the common start to the last peer's end."""
    cpu_s: Spread
    """Of all processes, per round."""
    wire_bytes: int
    """Sent by all peers in one round, TLS and all (median)."""
    relative_error: float
    """Against the exact mean in float64; the worst peer in the worst round."""
    identical: bool
    """All peers held the same bits after every round."""
    truncated_rounds: int
    """In which some contribution is missing in part."""
    failed_rounds: int
    cpus: int


def run(args: argparse.Namespace) -> int:
    """Measure and print; the exit code is 1 if any round was truncated, failed or unequal."""
    report = asyncio.run(measure(args.peers, numel=args.numel, codec=args.codec, rounds=args.rounds))
    text = msgspec.json.encode(report).decode() if args.json else _sentences(report)
    sys.stdout.write(text + "\n")
    return 0 if report.identical and not report.truncated_rounds and not report.failed_rounds else 1


async def measure(peers: int, *, numel: int, codec: str, rounds: int) -> Report:
    """Run `rounds` rounds between `peers` processes.

    Raises:
        Problem: a process ended or hangs.
    """
    async with children("core.bench.peer", peers) as group:
        for index, child in enumerate(group):
            child.tell(Setup(index=index, peers=peers, numel=numel, codec=codec, chunk_numel=CHUNK_NUMEL))
        ports = [listening.port for listening in await hear_all(group, Listening, timeout_s=START_S)]
        for child in group:
            child.tell(Meet(ports=ports))
        clock = Clock()
        results = [await _round(group, number, clock) for number in range(rounds)]
    return _report(results, numel=numel, codec=codec)


async def _round(group: Sequence[Child], number: int, clock: Clock) -> list[Done]:
    at = clock.now() + LEAD_S
    for child in group:
        child.tell(Go(number=number, at=at))
    return await hear_all(group, Done, timeout_s=ROUND_S)


def _report(results: Sequence[Sequence[Done]], *, numel: int, codec: str) -> Report:
    whole = [done for done in results if not any(peer.failed for peer in done)]
    return Report(
        peers=len(results[0]),
        numel=numel,
        codec=codec,
        rounds=len(results),
        seconds=_spread([max(peer.seconds for peer in done) for done in results]),
        cpu_s=_spread([sum(peer.cpu_s for peer in done) for done in results]),
        wire_bytes=int(statistics.median(sum(peer.wire_bytes for peer in done) for done in results)),
        relative_error=max((peer.relative_error for done in whole for peer in done), default=-1.0),
        identical=all(len({peer.digest for peer in done}) == 1 for done in whole),
        truncated_rounds=sum(any(peer.missing_chunks for peer in done) for done in results),
        failed_rounds=len(results) - len(whole),
        cpus=os.cpu_count() or 1,
    )


def _spread(values: Sequence[float]) -> Spread:
    return Spread(round(statistics.median(values), 4), round(min(values), 4), round(max(values), 4))


def _sentences(report: Report) -> str:
    seconds, cpu = report.seconds, report.cpu_s
    return (
        f"{report.peers} peers averaged {amount(report.numel)} numbers as {report.codec}, {report.rounds} times:\n"
        f"  {seconds.median:.3f} s a round ({seconds.least:.3f} to {seconds.most:.3f}), "
        f"{cpu.median:.2f} CPU seconds, {report.wire_bytes / 1e6:.0f} MB sent;\n"
        f"  relative error {report.relative_error:.1e}, "
        f"{'the same bits everywhere' if report.identical else 'NOT the same everywhere'}, "
        f"{report.truncated_rounds} truncated, {report.failed_rounds} failed."
    )
