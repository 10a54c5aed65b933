"""`python -m tests.bench plan`: how fast a round is divided, and how far from the best division that is."""

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from core.averaging.balance.portions import best_portions, divided
from core.averaging.balance.solver import check_balance, share_chunks
from core.averaging.balance.traffic import Work, fleet
from tests.bench.plan import exact as plan_exact
from tests.bench.plan import fleets as plan_fleets

SIZES = (4, 8, 16, 32, 64, 128, 256)
EXACT_LIMITED_MAX = 64
"""Peers whose pairs are still all made rows of the reference."""
NUMEL = 18_000_000
"""Numbers in ALBERT-large, as in S000's figure 4."""
CHUNKS = 500
COMPUTE_S = (5.0, 15.0, 30.0)
SLOW_COMPUTE_S = 120.0
EXACT_GIVERS_MAX, EXACT_PARTS_MAX = 12, 6


class Took(msgspec.Struct, frozen=True, kw_only=True):
    """How long something took, several times over."""

    median_ms: float
    most_ms: float
    median_cpu_ms: float
    """Processor time of this process; what counts where others use the processor too."""


class Solved(msgspec.Struct, frozen=True, kw_only=True):
    """Random home lines of one size."""

    peers: int
    pair_limits: bool
    target_batch: bool
    """Whether partial contributions are chosen too."""
    balance: Took
    check: Took
    """Time in which a member verifies the plan."""
    gap: float | None
    """How much longer the round is than the optimum, at most; None: not computed."""


class MeasuredFleet(msgspec.Struct, frozen=True, kw_only=True):
    """A fleet that hivemind was measured on."""

    fleet: str
    seconds: float
    expected_s: float


class Portions(msgspec.Struct, frozen=True, kw_only=True):
    """Gain of partial contributions on home lines: steps a second, medians over fleets."""

    peers: int
    compute_s: float
    """Time in which all together compute a target batch, seconds."""
    overlaps: bool
    """Whether they compute while they average; a step takes the longer of both, or their sum."""
    everybody: float
    whole_givers: float
    partial: float
    whole_gap: float | None
    """How far the choice of whole givers is from the best of all, at most."""
    partial_gap: float | None
    """How far partial portions are from a bound that none exceeds: median."""
    partial_gap_most: float | None


class PlanReport(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of the planner for fleets of all sizes."""

    bench: str = "plan"
    solved: list[Solved]
    known: list[MeasuredFleet]
    portions: list[Portions]


def run(args: argparse.Namespace) -> int:
    """Measure and print; the exit code is 1 if a division is worse than the optimum by more than 1 %."""
    report = measure([size for size in SIZES if size <= args.peers], repeats=args.repeats, seed=args.seed)
    sys.stdout.write((msgspec.json.encode(report).decode() if args.json else _sentences(report)) + "\n")
    exact = all(one.gap is None or one.gap <= 0.01 for one in report.solved)
    return 0 if exact and all(one.seconds <= one.expected_s * 1.01 for one in report.known) else 1


def measure(sizes: Sequence[int], *, repeats: int, seed: int) -> PlanReport:
    """All of it; the same fleets for the same seed."""
    homes = plan_fleets.homes(np.random.default_rng(0), 4)
    best_portions(fleet(homes, Work(numel=1, number_bytes=1, target_samples=9)))
    ways = [(limited, target) for target in (False, True) for limited in (False, True)]
    return PlanReport(
        solved=[
            _solved(size, limited=limited, target=target, trials=[(seed, size, trial) for trial in range(repeats)])
            for limited, target in ways
            for size in sizes
        ],
        known=[
            MeasuredFleet(fleet=name, seconds=round(best_portions(fleet(lines, work)).seconds, 3), expected_s=expected)
            for name, (lines, work, expected) in plan_fleets.known().items()
        ],
        portions=[
            _portions(size, compute_s=compute_s, overlaps=overlaps, trials=[(seed, size, t) for t in range(repeats)])
            for size in (6, 12, 32)
            if size <= max(sizes)
            for compute_s in (*COMPUTE_S, SLOW_COMPUTE_S)
            for overlaps in (True, False)
        ],
    )


def _solved(size: int, *, limited: bool, target: bool, trials: Sequence[Any]) -> Solved:
    balancing, checking, gaps = _Watch(), _Watch(), []
    for trial, seed in enumerate(trials):
        chance = np.random.default_rng(seed)
        lines = plan_fleets.homes(chance, size)
        limits = plan_fleets.limits(chance, size) if limited else {}
        work = plan_fleets.batch(lines, numel=NUMEL, compute_s=COMPUTE_S[trial % len(COMPUTE_S)] if target else None)
        with balancing:
            found = best_portions(fleet(lines, work, limits))
        chunks = share_chunks(fleet(lines, work, limits), found, total=CHUNKS)
        with checking:
            check_balance(fleet(lines, work, limits), chunks=chunks, portions=found.portions)
        if not target and (not limited or size <= EXACT_LIMITED_MAX):
            gaps.append(found.seconds / plan_exact.shares_seconds(lines, work, limits) - 1)
    return Solved(
        peers=size,
        pair_limits=limited,
        target_batch=target,
        balance=balancing.took(),
        check=checking.took(),
        gap=max(gaps, default=None),
    )


class _Watch:
    """Notes how long its block takes each time."""

    def __init__(self) -> None:
        self._wall_s: list[float] = []
        self._cpu_s: list[float] = []

    def __enter__(self) -> None:
        self._began = time.perf_counter(), time.process_time()

    def __exit__(self, *_: object) -> None:
        self._wall_s.append(time.perf_counter() - self._began[0])
        self._cpu_s.append(time.process_time() - self._began[1])

    def took(self) -> Took:
        """All times that were measured so far."""
        return Took(
            median_ms=round(1000 * statistics.median(self._wall_s), 2),
            most_ms=round(1000 * max(self._wall_s), 2),
            median_cpu_ms=round(1000 * statistics.median(self._cpu_s), 2),
        )


def _portions(size: int, *, compute_s: float, overlaps: bool, trials: Sequence[Any]) -> Portions:
    everybody, whole, partial, whole_gaps, partial_gaps = [], [], [], [], []
    for seed in trials:
        lines = plan_fleets.homes(np.random.default_rng(seed), size)
        work = plan_fleets.batch(lines, numel=NUMEL, compute_s=compute_s, overlaps=overlaps)
        members = fleet(lines, work)
        everybody.append(divided(members, members.gives).steps_per_s)
        whole.append(plan_exact.best_givers(members).steps_per_s)
        partial.append(best_portions(members).steps_per_s)
        if size <= EXACT_GIVERS_MAX:
            whole_gaps.append(1 - whole[-1] / plan_exact.whole_givers_steps(lines, work))
        if size <= EXACT_PARTS_MAX:
            partial_gaps.append(1 - partial[-1] / plan_exact.free_parts_steps(lines, work))
    return Portions(
        peers=size,
        compute_s=compute_s,
        overlaps=overlaps,
        everybody=statistics.median(everybody),
        whole_givers=statistics.median(whole),
        partial=statistics.median(partial),
        whole_gap=max(whole_gaps, default=None),
        partial_gap=statistics.median(partial_gaps) if partial_gaps else None,
        partial_gap_most=max(partial_gaps, default=None),
    )


def _sentences(report: PlanReport) -> str:
    lines = []
    for one in report.solved:
        given = ["with pair limits"] * one.pair_limits + ["with a target batch"] * one.target_batch
        gap = "" if one.gap is None else f"; {max(0.0, one.gap):.4%} longer than the optimum at most"
        lines.append(
            f"{one.peers} home lines {' and '.join(given) or 'without pair limits'}: divided in "
            f"{one.balance.median_ms} ms (processor {one.balance.median_cpu_ms}), verified in {one.check.median_ms} ms "
            f"(processor {one.check.median_cpu_ms}){gap}."
        )
    lines += [f"{one.fleet}: {one.seconds:.2f} s, where {one.expected_s} s were found before." for one in report.known]
    for portions in report.portions:
        whole = "" if portions.whole_gap is None else f" (the best choice has {portions.whole_gap:.2%} more at most)"
        bound = "" if portions.partial_gap is None else f" ({portions.partial_gap:.2%} under a bound)"
        then = "while" if portions.overlaps else "before"
        lines.append(
            f"{portions.peers} home lines that compute a batch in {portions.compute_s:g} s {then} they average: "
            f"{portions.everybody:.4f} steps/s if everybody gives all, {portions.whole_givers:.4f} if some do{whole}, "
            f"{portions.partial:.4f} with parts{bound}."
        )
    return "\n".join(lines)
