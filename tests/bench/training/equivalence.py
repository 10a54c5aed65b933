"""A collaboration of four unequal workers beside one process with the same large batch.

It is figure 10 of S000 for a small ALBERT: held-out losses by step, a real backbone, engines and workers over loopback
on one side, `tests.bench.training.big_batch` on the other.  Both run with several seeds, because only the spread of
either side says how near the two curves have to be.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from core.backbone.charter import Charter
from core.base.manifest import Numbers
from core.base.problems import Problem
from core.storage.settings import Settings
from core.system.atomic_files import write_atomic
from tests.bench.charters import changed, charter_of
from tests.bench.collaboration import running_collaboration
from tests.bench.training.curves import drawn

SMALL: Final[Numbers] = {
    "sequence_length": 32,
    "embedding_size": 64,
    "hidden_size": 64,
    "intermediate_size": 256,
    "heads": 2,
    "micro_batch": 8,
    "held_out": 256,
}
WORKERS: Final = (
    Settings(threads=1),
    Settings(threads=2, upload_bytes_s=16_000_000.0),
    Settings(threads=1, upload_bytes_s=8_000_000.0, download_bytes_s=16_000_000.0),
    Settings(threads=1, upload_bytes_s=4_000_000.0),
)
"""Workers of unequal threads and lines; how many samples a pass takes each finds by itself."""
EVERY: Final = 5
SHOWN: Final = (25, 50, 100, 200)


class AtStep(msgspec.Struct, frozen=True, kw_only=True):
    """Held-out losses of all runs around one step, nats."""

    step: int
    collaboration: list[float]
    one_process: list[float]
    apart: float
    """Mean of the collaborations less that of the single processes."""
    spread: float
    """Largest less smallest of the single processes: what another order of the same text changes."""


class EquivalenceReport(msgspec.Struct, frozen=True, kw_only=True):
    """The curves of both sides, and how far they are apart."""

    bench: str = "equivalence"
    target_samples: int
    samples: list[float]
    """Mean samples of a step of each collaboration; the single process beside it takes as many."""
    shares: list[list[float]]
    """Shares of the samples of each collaboration, by worker, the largest first."""
    table: list[AtStep]
    collaborations: list[dict[int, float]]
    """Held-out loss by step, run by run."""
    processes: list[dict[int, float]]


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """Losses and samples of one collaboration that has ended."""

    losses: dict[int, float]
    samples: float
    shares: list[float]


def run(args: argparse.Namespace) -> int:
    """Measure, draw, and print the figures."""
    report = asyncio.run(measure(args.steps, seeds=args.seeds, target=args.target))
    if args.figure is not None:
        write_atomic(args.figure.expanduser().absolute(), drawn(report.collaborations, report.processes).encode())
    sys.stdout.write((msgspec.json.encode(report).decode() if args.json else sentences(report)) + "\n")
    return 0


async def measure(steps: int, *, seeds: int, target: int) -> EquivalenceReport:
    """Run collaborations, then single processes.

    Args:
        steps: Of each run.
        seeds: Runs of each side.
        target: Samples of a step, which a collaboration overshoots.

    Raises:
        Problem: a process ended or hangs.
    """
    with tempfile.TemporaryDirectory(prefix="potluck-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        base = await charter_of(folder / "first-words")
        charters = [
            changed(base, folder / f"charter-{n}", numbers=SMALL, target=target, evaluate_every=EVERY)
            for n in range(seeds)
        ]
        ran = [await _together(charter, folder / f"run-{n}", steps) for n, charter in enumerate(charters)]
        pairs = enumerate(zip(charters, ran, strict=True), start=1)
        alone = await asyncio.gather(*(_alone(charter, steps, round(one.samples), n) for n, (charter, one) in pairs))
    together = [one.losses for one in ran]
    return EquivalenceReport(
        target_samples=target,
        samples=[round(one.samples, 1) for one in ran],
        shares=[one.shares for one in ran],
        table=[at_step(step, together, alone) for step in SHOWN if step <= steps],
        collaborations=together,
        processes=alone,
    )


async def _together(charter: Charter, folder: Path, steps: int) -> Ran:
    async with running_collaboration(charter, folder, len(WORKERS), settings=WORKERS) as running:
        last = await running.reached(steps)
    given = [row.samples for row in last.leaderboard]
    losses = {point.epoch: point.loss_heldout for point in last.curve if point.loss_heldout is not None}
    return Ran(
        losses={step: round(loss, 4) for step, loss in losses.items() if step <= steps},
        samples=sum(given) / last.epoch,
        shares=sorted((round(one / sum(given), 3) for one in given), reverse=True),
    )


async def _alone(charter: Charter, steps: int, samples: int, seed: int) -> dict[int, float]:
    words = ["-m", "tests.bench.training.big_batch", str(charter.manifest_path), str(charter.blobs)]
    words += ["--steps", str(steps), "--samples", str(samples), "--seed", str(seed)]
    process = await asyncio.create_subprocess_exec(sys.executable, *words, stdout=asyncio.subprocess.PIPE)
    try:
        out, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise Problem("The single process failed.", hint="What it wrote above says why.")
    losses = msgspec.json.decode(out.splitlines()[-1], type=dict[int, float])
    return {step: round(loss, 4) for step, loss in losses.items()}


def at_step(step: int, together: Sequence[dict[int, float]], alone: Sequence[dict[int, float]]) -> AtStep:
    """Both sides at one step; where a run was not measured there, on the line between its neighbours."""
    ours, theirs = ([round(between(run, step), 4) for run in side] for side in (together, alone))
    return AtStep(
        step=step,
        collaboration=ours,
        one_process=theirs,
        apart=round(statistics.mean(ours) - statistics.mean(theirs), 4),
        spread=round(max(theirs) - min(theirs), 4),
    )


def between(curve: dict[int, float], step: int) -> float:
    """The loss at a step, on the line between the measured steps around it; beyond the last one, the last.

    Raises:
        Problem: nothing was measured.
    """
    if not curve:
        raise Problem("No held-out loss was measured.", hint="Is this computer too busy?")
    before, after = (
        max((s for s in curve if s <= step), default=min(curve)),
        min((s for s in curve if s >= step), default=max(curve)),
    )
    share = (step - before) / (after - before) if after > before else 0.0
    return curve[before] + share * (curve[after] - curve[before])


def sentences(report: EquivalenceReport) -> str:
    """The table of the report, in Markdown."""
    lines = ["| step | collaboration | one process | apart | spread of one process |", "|---|---|---|---|---|"]
    for row in report.table:
        ours, theirs = (", ".join(f"{loss:.3f}" for loss in side) for side in (row.collaboration, row.one_process))
        lines.append(f"| {row.step} | {ours} | {theirs} | {row.apart:+.3f} | {row.spread:.3f} |")
    lines.append(
        f"\nSamples a step: target {report.target_samples}, collaborations {report.samples}; shares {report.shares}."
    )
    return "\n".join(lines)
