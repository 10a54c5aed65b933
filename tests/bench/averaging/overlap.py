"""Real engines and workers, averaging beside computing and after it, on lines of one speed."""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from core.api.numbers import amount
from core.backbone.charter import Charter
from core.base.manifest import AveragingNumbers
from core.storage.settings import Settings
from tests.bench.charters import changed, charter_of
from tests.bench.collaboration import BenchCollaboration, Step, running_collaboration

CALIBRATION_EPOCHS = 2
FLOAT_BYTES = 4
VECTORS_IN_A_STATE = 3
"""Parameters and two moments."""
TARGET_FIRST = 512


class Mode(msgspec.Struct, frozen=True, kw_only=True):
    """How one way of doing it went; medians of the steps."""

    delayed: bool
    steps: int
    cycle_s: float
    """From one optimiser step to the next."""
    averaging_s: float
    """From the call for contributions to the end of the optimiser step."""
    compute_s: float
    """Time of all workers together for the target batch, by the speed that they measure themselves."""
    ideal_s: float
    """The sum of the two, or the longer one if computing goes on meanwhile."""
    ratio: float
    """Ratio of the cycle to the ideal."""
    samples: float
    """Averaged in a step: more than the target, since it takes time to notice that a batch is full."""
    batches_per_s: float
    target_samples_per_s: float
    """Target batches times their size: what the swarm's throughput is in S000 3.2."""
    samples_per_s: float
    """All that were averaged; more than the target where computing is faster than averaging."""


class OverlapReport(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of averaging with and without overlap."""

    bench: str = "overlap"
    peers: int
    parameters: int
    target_samples: int
    upload_bytes_s: float
    after_one_another: Mode
    at_the_same_time: Mode
    gain: float
    """How many times as many steps a second."""
    gain_ideal: float
    cpus: int


@dataclass(frozen=True, slots=True)
class Size:
    """Sizes with which computing and averaging take about as long."""

    target_samples: int
    upload_bytes_s: float
    parameters: int


def run(args: argparse.Namespace) -> int:
    """Measure the modes, and print the figures."""
    report = asyncio.run(measure(args.peers, epochs=args.epochs, seconds=args.seconds))
    text = msgspec.json.encode(report).decode() if args.json else _sentences(report)
    sys.stdout.write(text + "\n")
    return 0


async def measure(peers: int, *, epochs: int, seconds: float) -> OverlapReport:
    """Found a collaboration, see how fast it computes, and run it both ways.

    Args:
        peers: Engines with a worker each.
        epochs: Optimiser steps to measure, each way.
        seconds: How long computing a batch, and averaging, shall take about.

    Raises:
        Problem: a process ended or hangs.
    """
    with tempfile.TemporaryDirectory(prefix="potluck-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        base = await charter_of(folder / "first-words")
        size = await _calibrate(base, folder / "calibration", peers=peers, seconds=seconds)
        limited = Settings(upload_bytes_s=size.upload_bytes_s)
        modes = []
        for delayed in (False, True):
            charter = changed(
                base, folder / f"delayed-{delayed}", averaging=averaging(delayed=delayed), target=size.target_samples
            )
            async with running_collaboration(
                charter, folder / f"collaboration-{delayed}", peers, settings=[limited] * peers
            ) as running:
                modes.append(mode_of(await running.steps(epochs + 1), size.target_samples, delayed=delayed))
    plain, delayed_mode = modes
    return OverlapReport(
        peers=peers,
        parameters=size.parameters,
        target_samples=size.target_samples,
        upload_bytes_s=round(size.upload_bytes_s),
        after_one_another=plain,
        at_the_same_time=delayed_mode,
        gain=round(plain.cycle_s / delayed_mode.cycle_s, 3),
        gain_ideal=round(plain.ideal_s / delayed_mode.ideal_s, 3),
        cpus=os.cpu_count() or 1,
    )


def averaging(*, delayed: bool) -> AveragingNumbers:
    """How contributions are averaged, with the patience that limited lines take.

    Args:
        delayed: Whether computing goes on meanwhile.
    """
    return AveragingNumbers(delayed=delayed, round_timeout_s=300.0, stall_timeout_s=30.0)


def mode_of(steps: Sequence[Step], target_samples: int, *, delayed: bool) -> Mode:
    """Figures of some steps; the first was only waited for."""
    measured = steps[1:]
    cycle_s = statistics.median(step.cycle_s for step in measured)
    averaging_s = statistics.median(step.averaging_s for step in measured)
    compute_s = target_samples / statistics.median(step.samples_per_s for step in measured)
    ideal_s = max(compute_s, averaging_s) if delayed else compute_s + averaging_s
    return Mode(
        delayed=delayed,
        steps=len(measured),
        cycle_s=round(cycle_s, 3),
        averaging_s=round(averaging_s, 3),
        compute_s=round(compute_s, 3),
        ideal_s=round(ideal_s, 3),
        ratio=round(cycle_s / ideal_s, 3),
        samples=statistics.median(step.samples for step in measured),
        batches_per_s=round(1 / cycle_s, 4),
        target_samples_per_s=round(target_samples / cycle_s, 2),
        samples_per_s=round(sum(step.samples for step in measured) / sum(step.cycle_s for step in measured), 2),
    )


async def _calibrate(base: Charter, folder: Path, *, peers: int, seconds: float) -> Size:
    """Train on unlimited lines for as long as it takes to know the workers' speed."""
    charter = changed(base, folder / "charter", averaging=averaging(delayed=False), target=TARGET_FIRST)
    async with running_collaboration(charter, folder / "collaboration", peers) as running:
        steps = await running.steps(CALIBRATION_EPOCHS)
        vector_bytes = _state_bytes(running) / VECTORS_IN_A_STATE
    speed = statistics.median(step.samples_per_s for step in steps)
    sent_bytes = 2 * (peers - 1) / peers * vector_bytes
    return Size(max(1, round(speed * seconds)), sent_bytes / seconds, round(vector_bytes / FLOAT_BYTES))


def _state_bytes(running: BenchCollaboration) -> int:
    return max(path.stat().st_size for path in running.states.glob("state-*.safetensors"))


def _sentences(report: OverlapReport) -> str:
    size = f"{amount(report.parameters)} parameters, {amount(report.target_samples)} samples a step"
    line = f"{amount(round(report.upload_bytes_s / 1000))} kB/s each"
    lines = [f"{report.peers} peers, {size}, {line}:"]
    for words, mode in (
        ("one after the other", report.after_one_another),
        ("at the same time", report.at_the_same_time),
    ):
        parts = f"computing {mode.compute_s:.1f} s, averaging {mode.averaging_s:.1f} s, ideal {mode.ideal_s:.1f} s"
        lines.append(f"  {words}: {mode.cycle_s:.1f} s a step ({parts}), {mode.samples_per_s:.0f} samples a second;")
    lines.append(f"  {report.gain:.2f} times as many steps (ideal: {report.gain_ideal:.2f}).")
    return "\n".join(lines)
