"""`python -m tests.bench groups`: the best size of a group for a number of peers and a failure rate (S000, figure 8).

The paper gives no formula for the expected iterations until the global average.  With R = ceil(log_m n) of them, and
groups of m that succeed with q = (1 - p)^m and else repeat their iteration, there are two readings:

    independent   E = R / q                                   a group repeats on its own, and nobody waits for others
    barrier       E = R E[max of ceil(n / m) Geometric(q)]    an iteration ends when its last group has succeeded

They agree for m = n.  Plans go by the barrier (`core.averaging.grid.layout`).
"""

import argparse
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import msgspec

from core.averaging.grid.layout import slowest

PEERS: Final = (16, 64, 128, 256, 512, 1024)
RATES: Final = (1e-4, 1e-3, 5e-3, 1e-2, 5e-2, 0.1, 0.2)
_HALVINGS: Final = 20
_TIE: Final = 1e-12
"""Part by which more iterations must be expected of one size than of another to be worse: sums are rounded."""

Reading = Callable[..., float]


class Best(msgspec.Struct, frozen=True, kw_only=True):
    """For one number of peers and one failure rate."""

    peers: int
    failure_rate: float
    group: int
    stages: int
    iterations: float
    """Expected, until everybody holds the global average."""
    one_group_iterations: float
    """The same with all peers in one group; infinite is written as null."""


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """Where the best size leaves one end of its range and reaches the other."""

    peers: int
    one_group_up_to: float
    """The largest failure rate at which one group of all is the best."""
    pairs_from: float
    """The smallest failure rate from which groups of two are."""


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Figure 8 in one of its readings."""

    reading: str
    best: list[Best]
    turns: list[Turn]


class GroupsReport(msgspec.Struct, frozen=True, kw_only=True):
    """Tables for both readings of the figure."""

    bench: str = "groups"
    tables: list[Table]


def stages_for(peers: int, group: int) -> int:
    """R = ceil(log_m n): iterations that groups of `group` need to average `peers`.  At least 1.

    Raises:
        ValueError: groups of fewer than two never average anything.
    """
    if peers < 1 or group < 2:
        raise ValueError(f"{peers} peers in groups of {group}")
    stages, reached = 1, group
    while reached < peers:
        stages, reached = stages + 1, reached * group
    return stages


def independent(peers: int, *, group: int, failure_rate: float) -> float:
    """Expected iterations where each group goes on by itself."""
    q = (1 - failure_rate) ** group
    return stages_for(peers, group) / q if q > 0 else math.inf


def barrier(peers: int, *, group: int, failure_rate: float) -> float:
    """Expected iterations where each one waits for its slowest group."""
    return stages_for(peers, group) * slowest(-(-peers // group), (1 - failure_rate) ** group)


READINGS: Final[Mapping[str, Reading]] = MappingProxyType({"independent": independent, "barrier": barrier})
"""Both readings by name."""


def best_group(peers: int, failure_rate: float, *, reading: Reading = barrier) -> int:
    """The size of group with the fewest expected iterations; of equal ones the smaller, since a failure hits fewer."""
    best, least = peers, math.inf
    for group in range(2, peers + 1):
        expected = reading(peers, group=group, failure_rate=failure_rate)
        if expected < least * (1 - _TIE):
            best, least = group, expected
    return best


def run(args: argparse.Namespace) -> int:
    """Print the tables of `python -m tests.bench groups`."""
    report = measure(args.peers or PEERS, args.failure_rates or RATES)
    text = msgspec.json.encode(report).decode() if args.json else _sentences(report)
    sys.stdout.write(text + "\n")
    return 0


def measure(peers: Sequence[int], rates: Sequence[float]) -> GroupsReport:
    """Both readings for each number of peers and each failure rate."""
    return GroupsReport(
        tables=[
            Table(
                reading=name,
                best=[_best(n, rate, reading) for n in peers for rate in rates],
                turns=[_turn(n, reading) for n in peers],
            )
            for name, reading in READINGS.items()
        ]
    )


def _best(peers: int, rate: float, reading: Reading) -> Best:
    group = best_group(peers, rate, reading=reading)
    return Best(
        peers=peers,
        failure_rate=rate,
        group=group,
        stages=stages_for(peers, group),
        iterations=reading(peers, group=group, failure_rate=rate),
        one_group_iterations=reading(peers, group=peers, failure_rate=rate),
    )


def _turn(peers: int, reading: Reading) -> Turn:
    first, _ = _switch(peers, reading, least=peers)
    _, last = _switch(peers, reading, least=3)
    return Turn(peers=peers, one_group_up_to=first, pairs_from=last)


def _switch(peers: int, reading: Reading, *, least: int) -> tuple[float, float]:
    """The failure rates below and above the point from which the best group is smaller than `least`."""
    low, high = 0.0, 0.9
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if best_group(peers, middle, reading=reading) >= least:
            low = middle
        else:
            high = middle
    return low, high


def _sentences(report: GroupsReport) -> str:
    return "\n\n".join(_table(table) for table in report.tables)


def _table(table: Table) -> str:
    rates = list(dict.fromkeys(best.failure_rate for best in table.best))
    head = "  peers \\ rate" + "".join(f"{rate:>8g}" for rate in rates) + "   one group up to   pairs from"
    lines = [f"Best size of a group, reading '{table.reading}':", head]
    for turn in table.turns:
        sizes = [best.group for best in table.best if best.peers == turn.peers]
        lines.append(
            f"  {turn.peers:>12}"
            + "".join(f"{size:>8}" for size in sizes)
            + f"{turn.one_group_up_to:>18.4f}{turn.pairs_from:>13.3f}"
        )
    return "\n".join(lines)
