"""`python -m tests.bench training`: a worker's loop beside others, and two in a collaboration beside the two alone."""

import argparse
import asyncio
import os
import sys
import tempfile
from pathlib import Path

import msgspec

from core.api.numbers import amount, volume
from core.base.problems import BadInput
from tests.bench.charters import charter_of
from tests.bench.spread import Spread
from tests.bench.training.loops import WORKER, LoopsWanted, RecipeLoops, measure_loops
from tests.bench.training.together import (
    SCRIPT,
    WORKERS,
    HivemindScript,
    InCollaboration,
    Rival,
    Together,
    measure_together,
)


class TrainingReport(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of training loops, and of collaborations of two."""

    bench: str = "training"
    recipes: dict[str, RecipeLoops]
    """The loops, by recipe."""
    together: list[InCollaboration]
    """Figures of the first recipe in a collaboration."""
    rivals: list[Rival]
    cpus: int
    load_before: float
    """Processes that waited for a CPU when it began, mean of a minute; other programs spoil figures."""


def run(args: argparse.Namespace) -> int:
    """Measure, and print the figures."""
    check(args)
    report = asyncio.run(measure(args))
    sys.stdout.write((msgspec.json.encode(report).decode() if args.json else sentences(report)) + "\n")
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
    if not args.seconds:
        raise BadInput("hivemind is measured beside collaborations.", hint="Leave --seconds 0 out, or hivemind.")
    for path in (Path(args.hivemind), Path(args.peers_scripts) / SCRIPT):
        if not path.is_file():
            raise BadInput(f"There is no {path}.", hint="Write where it is, or leave out that hivemind is measured.")


async def measure(args: argparse.Namespace) -> TrainingReport:
    """Prepare each recipe and let its loops take turns; then run collaborations of the first recipe.

    Raises:
        BadInput: a recipe, its text or the device cannot be used.
        Problem: a process ended or hangs.
    """
    load_before = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    wanted = LoopsWanted(
        loops=list(dict.fromkeys(args.loops)),
        device=args.device,
        threads=args.threads,
        micro_batch=args.micro_batch,
        turns=args.turns,
        turn_s=args.turn,
    )
    recipes, together, rivals = {}, list[InCollaboration](), list[Rival]()
    with tempfile.TemporaryDirectory(prefix="potluck-bench-", ignore_cleanup_errors=True) as name:
        charters = {path.stem: await charter_of(Path(name) / path.stem, path) for path in args.recipes}
        for recipe, charter in charters.items() if wanted.loops else ():
            recipes[recipe] = await measure_loops(charter, Path(name) / f"{recipe}-loops", wanted)
        if args.seconds:
            first = next(iter(charters.values()))
            where = Path(name) / "together"
            together, rivals = await measure_together(first, where, seconds=args.seconds, hivemind=_hivemind(args))
    return TrainingReport(
        recipes=recipes,
        together=together,
        rivals=rivals,
        cpus=os.cpu_count() or 1,
        load_before=round(load_before, 2),
    )


def _hivemind(args: argparse.Namespace) -> HivemindScript | None:
    if args.hivemind is None:
        return None
    return HivemindScript(Path(args.hivemind).absolute(), Path(args.peers_scripts).absolute())


def sentences(report: TrainingReport) -> str:
    """The figures as sentences, for people."""
    lines = [line for recipe, found in report.recipes.items() for line in _of_recipe(recipe, found)]
    lines += [
        f"{_together('Potluck', own)}; {own.ratio:.2f} with all samples, {own.overshoot:.0%} more than the target."
        for own in report.together
    ]
    for rival in report.rivals:
        lines += [f"{_together(rival.name, found)}." for found in rival.together]
        lines += [f"{rival.name} was not measured: {rival.missing}"] if rival.missing else []
    return "\n".join(lines)


def _of_recipe(recipe: str, found: RecipeLoops) -> list[str]:
    how = f"{found.micro_batch} samples a pass, {found.threads} threads"
    lines = [f"{recipe}: {amount(found.parameters)} parameters on {found.device}, {how}; {found.turns} turns each:"]
    for name, figures in found.loops.items():
        parts = [f"{_spread(figures.samples_per_s)} samples/s", f"{_spread(figures.cpu_s_a_sample)} CPU s a sample"]
        parts += [f"{volume(figures.memory_bytes)} of memory at most"]
        parts += [f"{volume(figures.device_bytes)} on the graphics card"] if figures.device_bytes else []
        parts += [f"samples a step: {amount(figures.step_samples)}"]
        parts += [f"{figures.data_wait:.1%} waiting for text"] if name == WORKER else []
        parts += [f"{figures.step_s:.3f} s a step"] if figures.step_s is not None else []
        lines.append(f"  {name:8}{', '.join(parts)}")
    for name, ratio in found.worker_over.items():
        cpu = _spread(found.worker_over_cpu[name])
        lines.append(f"  {WORKER} / {name}: {_spread(ratio)} times the samples a second, {cpu} a CPU second")
    return [*lines, *(f"  {name} was not measured: {why}." for name, why in found.skipped.items())]


def _together(whose: str, found: Together) -> str:
    how = "delayed" if found.delayed else "not delayed"
    return (
        f"{whose}, {WORKERS} in a collaboration, {found.goal_s:g} s a step wanted, {how}: {found.step_s:.2f} s a step, "
        f"{found.useful:.2f} of the speed of the {WORKERS} alone"
    )


def _spread(found: Spread) -> str:
    return f"{found.median:.4g} ({found.least:.4g} to {found.most:.4g})"
