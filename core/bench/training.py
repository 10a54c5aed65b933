"""`potluck bench training`: one worker's loop beside plain ones, and two in a collaboration beside the two alone.

Two workers that no engine drives compute, then a collaboration of two, then the two again, so that a computer that
others use as well slows all down alike.  They stand still in between.
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom
from types import MappingProxyType
from typing import Any, Final

import msgspec

from core.backbone import charter as charters
from core.backbone.charter import Charter
from core.base.manifest import AveragingNumbers, Numbers
from core.base.problems import BadInput, Problem
from core.bench.alone import workers_alone
from core.bench.collaboration import StepSpan, running_collaboration
from core.bench.script import figures_of
from core.engine.embedded import Embedded, EmbeddedOptions
from core.storage.paths import Home
from core.workers.loop_speeds import LoopSpeeds

ALBERT_BASE: Final[Numbers] = {
    "hidden_size": 768,
    "intermediate_size": 3072,
    "layers": 12,
    "heads": 12,
    "sequence_length": 128,
    "micro_batch": 8,
    "held_out": 8,
}
SIZES: Final = MappingProxyType[str, Numbers]({"demo": {}, "albert-base": ALBERT_BASE})
"""What each size changes in the demo's numbers."""
WORKERS: Final = 2
STEPS_S: Final = (2.0, 0.5)
"""How long a step shall take about."""
CALIBRATION_S: Final = 6.0
SCRIPT: Final = "bench_optimizer.py"
SCRIPT_LIMIT_S: Final = 900.0


class InCollaboration(msgspec.Struct, frozen=True, kw_only=True):
    """Two workers inside a collaboration, beside the same computer's two workers alone."""

    delayed: bool
    target_samples: int
    steps: int
    step_s: float
    samples_per_s: float
    """All that were averaged."""
    alone_before: float
    """Samples a second of two workers alone, before and after."""
    alone_after: float
    ratio: float
    """`samples_per_s` to the mean of the two."""
    overshoot: float
    """Share of the target by which more than it was averaged."""


class TrainingReport(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of training loops, and of collaborations of two."""

    bench: str = "training"
    loops: dict[str, LoopSpeeds]
    """By size."""
    collaborations: list[InCollaboration]
    hivemind: dict[str, Any] | None
    """What the script printed that measures hivemind.Optimizer; None: it was not measured."""
    cpus: int
    load_before: float
    """Processes that waited for a CPU when it began, mean of a minute; other programs spoil figures."""


def run(args: argparse.Namespace) -> int:
    """Measure, and print the figures."""
    check(args)
    report = asyncio.run(measure(args))
    text = msgspec.json.encode(report).decode() if args.json else _sentences(report)
    sys.stdout.write(text + "\n")
    return 0


def check(args: argparse.Namespace) -> None:
    """Refuse options that do not go together, before anything is measured.

    Raises:
        BadInput: says which.
    """
    if (args.hivemind is None) != (args.peers_scripts is None):
        raise BadInput("Measuring hivemind takes both --hivemind and --peers-scripts.", hint="Give both, or neither.")
    if args.hivemind is None:
        return
    for path in (Path(args.hivemind), Path(args.peers_scripts) / SCRIPT):
        if not path.is_file():
            raise BadInput(f"There is no {path}.", hint="Write where it is, or leave out that hivemind is measured.")


async def measure(args: argparse.Namespace) -> TrainingReport:
    """Found a collaboration, let loops take turns, then workers alone and workers in a collaboration.

    Raises:
        Problem: a process ended or hangs.
    """
    load_before = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    with tempfile.TemporaryDirectory(prefix="potluck-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        home = Home(folder / "prepared")
        home.create()
        base = await Embedded(home=home, options=EmbeddedOptions(), random=SystemRandom()).found()
        loops = {
            size: await _loops(changed(base, folder / size, numbers=SIZES[size]), seconds=args.turn)
            for size in args.sizes
        }
        collaborations = await _collaborations(base, folder, seconds=args.seconds) if args.seconds else []
    hivemind = await _hivemind(Path(args.hivemind), Path(args.peers_scripts)) if args.hivemind else None
    return TrainingReport(
        loops=loops,
        collaborations=collaborations,
        hivemind=hivemind,
        cpus=os.cpu_count() or 1,
        load_before=round(load_before, 2),
    )


def changed(
    base: Charter,
    folder: Path,
    *,
    numbers: Numbers,
    target: int | None = None,
    delayed: bool = False,
    evaluate_every: int = 1_000_000,
) -> Charter:
    """The same text as another collaboration.

    Args:
        base: With the text's blobs.
        folder: Of the new charter.
        numbers: What is different about the model and its batches.
        target: Samples of a step; None: as they are.
        delayed: Whether computing goes on while a round is averaged.
        evaluate_every: Epochs between two looks at the held-out text.
    """
    authority = charters.new_authority()
    manifest = base.manifest
    manifest = msgspec.structs.replace(
        manifest,
        numbers={**manifest.numbers, **numbers},
        blobs=charters.keep_blobs(folder, {name: base.blobs / hexed for name, hexed in manifest.blobs.items()}),
        averaging=AveragingNumbers(delayed=True if delayed else msgspec.UNSET),
        target_samples=target or manifest.target_samples,
        evaluate_every=evaluate_every,
        authority=authority.peer_id.hex(),
    )
    return charters.found(folder, manifest, authority)


# --- loops -----------------------------------------------------------------------------------------------------------


async def _loops(charter: Charter, *, seconds: float) -> LoopSpeeds:
    """What `core.training.yardsticks` measures, in a process of its own."""
    words = [
        "-m",
        "core.training.yardsticks",
        str(charter.manifest_path),
        str(charter.blobs),
        "--seconds",
        str(seconds),
    ]
    process = await asyncio.create_subprocess_exec(sys.executable, *words, stdout=asyncio.subprocess.PIPE)
    try:
        out, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise Problem("The measurement of the loops failed.", hint="What it wrote above says why.")
    return msgspec.json.decode(out.splitlines()[-1], type=LoopSpeeds)  # Trainer prints, too


# --- workers in a collaboration --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Mode:
    """One way of running a collaboration."""

    target: int
    delayed: bool


async def _collaborations(base: Charter, folder: Path, *, seconds: float) -> list[InCollaboration]:
    async with workers_alone(base, folder, WORKERS) as alone:
        await alone.samples_per_s(CALIBRATION_S)
        before = await alone.samples_per_s(CALIBRATION_S)
        ways = [_Mode(max(1, round(before * step_s)), delayed) for step_s in STEPS_S for delayed in (False, True)]
        found = []
        for number, way in enumerate(ways):
            where = folder / f"collaboration-{number}"
            charter = changed(base, where / "charter", numbers={}, target=way.target, delayed=way.delayed)
            async with running_collaboration(charter, where, WORKERS) as running:
                stretch = await running.stretch(seconds)
            after = await alone.samples_per_s(CALIBRATION_S)
            found.append(in_collaboration(way.target, stretch, before, after, delayed=way.delayed))
            before = after
        return found


def in_collaboration(target: int, stretch: StepSpan, before: float, after: float, *, delayed: bool) -> InCollaboration:
    """Figures of one way.

    Args:
        target: Samples of a step.
        stretch: What was seen of it.
        before: Samples a second of the workers alone, before.
        after: The same, after.
        delayed: Whether computing went on while a round was averaged.
    """
    samples_per_s = stretch.samples / stretch.seconds
    return InCollaboration(
        delayed=delayed,
        target_samples=target,
        steps=stretch.steps,
        step_s=round(stretch.seconds / stretch.steps, 3),
        samples_per_s=round(samples_per_s, 1),
        alone_before=round(before, 1),
        alone_after=round(after, 1),
        ratio=round(samples_per_s / statistics.mean((before, after)), 3),
        overshoot=round(stretch.samples / (stretch.steps * target) - 1, 3),
    )


# --- hivemind --------------------------------------------------------------------------------------------------------


async def _hivemind(python: Path, scripts: Path) -> dict[str, Any]:
    """hivemind.Optimizer as its script measures it: two peers, with and without delayed updates."""
    found = {}
    with tempfile.TemporaryDirectory(prefix="potluck-bench-") as logs:
        for name, extra in (("plain", []), ("delayed", ["--delayed"])):
            order = ["--peers", str(WORKERS), "--target", "2560", "--no-join", "--no-kill", "--logdir", logs, *extra]
            found[name] = await figures_of(python, scripts / SCRIPT, order, limit_s=SCRIPT_LIMIT_S)
    return found


def _sentences(report: TrainingReport) -> str:
    lines = []
    for size, speeds in report.loops.items():
        other = (
            f"Trainer {speeds.trainer:.0f}" if speeds.trainer is not None else f"no Trainer: {speeds.trainer_skipped}"
        )
        lines.append(
            f"{size}: {speeds.parameters} parameters, {speeds.threads} thread: worker {speeds.worker:.1f} samples/s, "
            f"a plain loop {speeds.plain:.1f}, {other}. First gradient after {speeds.first_batch_s:.2f} s, "
            f"{speeds.first_seconds:.0%} of its speed in the first seconds, {speeds.data_wait:.1%} of its time waiting "
            f"for data; a step takes {speeds.still_s:.3f} s."
        )
    for found in report.collaborations:
        how = "delayed" if found.delayed else "not delayed"
        lines.append(
            f"{WORKERS} workers, {found.target_samples} samples a step, {how}: {found.step_s:.2f} s a step, "
            f"{found.ratio:.2f} of the speed of the two alone, {found.overshoot:.0%} more than the target."
        )
    for name, figures in (report.hivemind or {}).items():
        lines.append(f"hivemind.Optimizer, {name}: {figures.get('efficiency')} of its plain loop.")
    return "\n".join(lines)
