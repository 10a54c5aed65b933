"""What `python -m tests.bench averaging` tells of its rounds."""

import os
import statistics
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np

from core.api.numbers import amount
from tests.bench.averaging.messages import RoundDone
from tests.bench.network.limits import FleetLimits
from tests.bench.network.pings import PingReport
from tests.bench.spread import Spread


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
    """Processor time of all processes, per round with its matchmaking."""
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
    strangers: "AveragingReport | None" = None
    """Asked for: rounds among strangers, in turns with these.  Its error is against the mean of whole parts, too."""
    calls: "AveragingReport | None" = None
    """Asked for: rounds beside calls of experts, in turns with these."""
    calls_ms: tuple[float, float] | None = None
    """The time of these calls, 95th percentile, without a round and beside one, milliseconds."""
    hivemind: dict[str, Any] = {}
    gloo: dict[str, Any] = {}
    ratios: dict[str, float] = {}
    """Ours over theirs, medians; below 1 is faster.  Of strangers theirs over ours: what their proofs cost."""

    @property
    def is_sound(self) -> bool:
        """Whether every round ended for all peers, with the same bits and without a part missing."""
        return self.identical and not self.truncated_rounds and not self.failed_rounds


def report_of(results: Sequence[Sequence[RoundDone]], *, numel: int, codec: str) -> AveragingReport:
    """The figures of rounds, each as all its peers tell it.

    Args:
        results: The rounds.
        numel: Numbers in the vector.
        codec: The codec's name.
    """
    whole = [done for done in results if all(peer.ended and peer.members == len(done) for peer in done)]
    return AveragingReport(
        peers=len(results[0]),
        numel=numel,
        codec=codec,
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
        memory=round(1 + max(peer.growth_bytes for done in results for peer in done) / (4 * numel), 3),
        cpus=os.cpu_count() or 1,
    )


def _spread(values: Sequence[float]) -> Spread:
    if not values:
        return Spread(-1.0, -1.0, -1.0)
    return Spread(round(statistics.median(values), 4), round(min(values), 4), round(max(values), 4))


def beside_strangers(friends: AveragingReport, strangers: AveragingReport) -> AveragingReport:
    """The figures of friends with those of strangers, and what these cost more.

    Args:
        friends: Rounds with the plain mean.
        strangers: Rounds with clipped and proven means, in turns with the others.
    """
    pairs = {
        "strangers": (strangers.seconds.median, friends.seconds.median),
        "strangers_cpu": (strangers.cpu_s.median, friends.cpu_s.median),
        "strangers_bytes": (strangers.wire_bytes, friends.wire_bytes),
    }
    ratios = {name: round(theirs / ours, 3) for name, (theirs, ours) in pairs.items() if ours > 0}
    return msgspec.structs.replace(friends, strangers=strangers, ratios={**friends.ratios, **ratios})


def beside_calls(
    report: AveragingReport, beside: AveragingReport, results: Sequence[Sequence[RoundDone]]
) -> AveragingReport:
    """The figures of rounds with those of rounds beside calls, and of these calls.

    Args:
        report: Rounds alone.
        beside: Rounds beside calls, in turns with the others.
        results: These, as all their peers tell them.
    """
    peers = [peer for done in results for peer in done]
    alone, with_rounds = (
        float(np.percentile([took for peer in peers for took in times(peer)], 95))
        for times in (attrgetter("alone_s"), attrgetter("beside_s"))
    )
    ratios = {"calls": beside.seconds.median / report.seconds.median, "calls_p95": with_rounds / alone}
    return msgspec.structs.replace(
        report,
        calls=beside,
        calls_ms=(round(1000 * alone, 1), round(1000 * with_rounds, 1)),
        ratios={**report.ratios, **{name: round(ratio, 3) for name, ratio in ratios.items()}},
    )


def sentences(report: AveragingReport) -> str:
    """What a report says, in words."""
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
    if report.calls_ms is not None:
        lines.append(
            "  calls of experts took {} ms alone and {} ms beside rounds (95th percentile).".format(*report.calls_ms)
        )
    lines += [f"  {_ratio(name, value)}" for name, value in report.ratios.items()]
    return "\n".join(lines)


def _ratio(name: str, value: float) -> str:
    what = {
        "hivemind": "time over hivemind's",
        "hivemind_cpu": "CPU seconds over hivemind's",
        "gloo": "time over gloo's",
        "strangers": "time among strangers over that among friends",
        "strangers_cpu": "CPU seconds among strangers over those among friends",
        "strangers_bytes": "bytes sent among strangers over those among friends",
        "calls": "time of rounds beside calls of experts over that without",
        "calls_p95": "time of calls beside rounds over that without, 95th percentile",
    }
    return f"{what[name]}: {value:.3f}"
