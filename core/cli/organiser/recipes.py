"""A recipe as a command line names and changes it, and `potluck plan`: what it comes to on this computer."""

import argparse
import asyncio
import os
import sys
import tempfile
import tomllib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import msgspec

from core.api.numbers import amount, lasting, speed, volume
from core.backbone.charter import Charter
from core.base.manifest import Number
from core.base.problems import BadInput, WorkerProblem, quoted
from core.base.recipe import Recipe
from core.cli.parsing.options import recipe_file, text_folder
from core.cli.parsing.quantities import read_rate
from core.cli.printing.say import say_progress
from core.cli.volunteer.needs import (
    ExpertNeeds,
    Needs,
    asked_for_sample,
    expert_needs,
    expert_sentences,
    needs_of,
    sent_in_epoch,
)
from core.engine.founding import Prepared, found, prepare
from core.engine.text.data_secrets import kept_secrets, secret_names
from core.storage.recipes import called, open_recipe
from core.system.child_process import own_command
from core.system.progress_bar import ProgressBar
from core.system.reports import Reports, reports

EVENTS = ("ready", "progress", "epoch", "data", "profiled", "ended", "measured")
"""Events that `core.training.programs.alone` reports."""
HOUR_S = 3600.0
MONTH_HOURS = 730.0
RUNS_MAX: Final = 16
MEASURING = "Measuring a few batches of the real model"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A recipe as a command line names it."""

    path: Path
    recipe: Recipe
    json: bool
    start: Path | None = None
    """A folder of `transformers` with the model to go on from; None: a new model."""
    changes: Mapping[str, Number] = field(default_factory=dict)
    """Values that are other ones than the recipe's, by dotted keys."""
    tells: bool = False
    """Whether lines of JSON say how far the preparation is."""

    @classmethod
    def of(cls, args: argparse.Namespace, changes: Mapping[str, Number] = MappingProxyType({})) -> "Chosen":
        """The recipe of the options `recipe`, `text` and `start`.

        Args:
            args: Arguments of the command.
            changes: Values in the place of the recipe's.

        Raises:
            BadInput: it cannot be used.
        """
        path, start = recipe_file(args.recipe), getattr(args, "start", None)
        start = None if start is None else start.expanduser().absolute()
        return cls(path, open_recipe(path, text=text_folder(args.text), changes=changes), args.json, start, changes)

    @property
    def called(self) -> str:
        """How sentences call the recipe, its changed values included."""
        return called(self.path, self.changes)

    @property
    def bar(self) -> ProgressBar:
        """Shows how far the preparation is."""
        return ProgressBar(json=self.json, say=say_progress if self.tells else None)

    async def prepare(self, out: Path) -> Prepared:
        """Read the text and prepare the task, with a bar in the terminal."""
        bar = self.bar
        bar.show(0.0, "Checking the recipe")
        try:
            prepared = await prepare(
                self.recipe,
                out,
                called=self.called,
                stage=lambda text, share: bar.show(share, text, part=text),
                start=self.start,
            )
        finally:
            bar.clear()
        for note in prepared.notes:
            print(note, file=sys.stderr)
        return prepared


class RecipePlan(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="plan"):
    """What a recipe comes to on this computer."""

    needs: Needs
    device: str
    threads: int
    micro_batch: float
    memory_bytes: int
    """The most that the training process held while it was measured."""
    device_bytes: int
    """Bytes of `memory_bytes` on a graphics card."""
    samples_per_s: float
    step_s: float
    """The optimiser's step and the checkpoint."""
    alone_epoch_s: float
    """An epoch of this computer alone."""
    peers: int
    upload_bytes_s: float
    averaging_s: float
    """What the bytes of a round take on that line."""
    epoch_s: float
    """An epoch of a number of computers like this one."""
    hour_bytes: float
    """Sent in an hour, and as much received."""
    experts: ExpertNeeds | None = None
    """What the experts of a mixture take; None: it has none."""


def run_plan(args: argparse.Namespace) -> int:
    """`potluck plan`; see `potluck plan --help`."""
    changes, *more = changes_of(args)
    if more:
        raise BadInput("A plan is made for one value of each key.", hint="Several values are for: potluck train")
    plan = asyncio.run(_plan(args, Chosen.of(args, changes)))
    if args.json:
        print(msgspec.json.encode(plan).decode())
    else:
        print(_plan_sentences(plan))
    return 0


async def _plan(args: argparse.Namespace, chosen: Chosen) -> RecipePlan:
    upload = read_rate(args.upload) or float("inf")
    with tempfile.TemporaryDirectory(prefix="potluck-plan-", ignore_cleanup_errors=True) as name:
        prepared = await chosen.prepare(Path(name) / "prepared")
        charter = found(chosen.recipe, prepared, Path(name) / "charter")
        blobs = sum(path.stat().st_size for path in charter.blobs.iterdir())
        measured: dict[str, Any] = {}
        bar = ProgressBar(json=args.json)
        bar.show(0.0, MEASURING)
        async with alone(charter, Path(name) / "states", ["--measure-s", str(args.seconds)], args) as said:
            async for line in said:
                if line["event"] == "progress":
                    bar.show(line["share"], MEASURING)
                elif line["event"] in ("ready", "measured"):
                    measured |= line
        bar.clear()
    if measured.get("event") != "measured":
        raise WorkerProblem("The measurement ended without a result.", hint="What it wrote above says why.")
    manifest = charter.manifest
    alone_s = manifest.target_samples / measured["samples_per_s"]
    sent = sent_in_epoch(prepared.costs.parameters, manifest, args.peers)
    calls = sum(asked_for_sample(manifest)) * manifest.target_samples / args.peers * (args.peers - 1) / args.peers
    averaging_s, together_s = sent / upload, max(alone_s / args.peers, calls / upload)
    busy_s = max(averaging_s, together_s) if manifest.averaging.overlaps else averaging_s + together_s
    epoch_s = busy_s + measured["step_s"]
    return RecipePlan(
        needs=needs_of(prepared.costs, manifest, blob_bytes=blobs),
        device=measured["device"],
        threads=args.threads or _threads(),
        micro_batch=measured["micro_batch"],
        memory_bytes=measured["memory_bytes"],
        device_bytes=measured["device_bytes"],
        samples_per_s=measured["samples_per_s"],
        step_s=measured["step_s"],
        alone_epoch_s=alone_s + measured["step_s"],
        peers=args.peers,
        upload_bytes_s=upload,
        averaging_s=averaging_s,
        epoch_s=epoch_s,
        hour_bytes=(sent + calls) * HOUR_S / epoch_s,
        experts=expert_needs(prepared.costs, manifest, samples_per_s=measured["samples_per_s"], peers=args.peers),
    )


def _plan_sentences(plan: RecipePlan) -> str:
    card = f", {volume(plan.device_bytes)} on the graphics card" if plan.device_bytes else ""
    of_experts = "" if plan.experts is None else "\n" + expert_sentences(plan.experts, peers=plan.peers)
    return (
        f"Parameters: {amount(plan.needs.parameters)}.\n"
        f"This computer ({plan.device}, {plan.threads} thread{'' if plan.threads == 1 else 's'}, "
        f"{plan.micro_batch:.0f} sample{'' if round(plan.micro_batch) == 1 else 's'} at a time): "
        f"{plan.samples_per_s:.3g} samples a second.\n"
        f"  memory   {volume(plan.memory_bytes)} measured{card}\n"
        f"  disk     {volume(plan.needs.disk_bytes)}, beside Potluck itself\n"
        f"  alone    {lasting(plan.alone_epoch_s)} an epoch, {plan.step_s:.2g} s of it for the step\n"
        f"With {plan.peers} computer{'' if plan.peers == 1 else 's'} like it, each with {speed(plan.upload_bytes_s)}:\n"
        f"  epoch    {lasting(plan.epoch_s)}, the averaging in it {lasting(plan.averaging_s)}\n"
        f"  network  {volume(plan.hour_bytes)} an hour each way, {volume(plan.hour_bytes * MONTH_HOURS)} a month "
        f"if it never stops; {volume(plan.needs.download_bytes)} to join{of_experts}"
    )


@asynccontextmanager
async def alone(
    charter: Charter, states: Path, words: Sequence[str], args: argparse.Namespace
) -> AsyncIterator[Reports]:
    """The child that trains."""
    where = ["--manifest", str(charter.manifest_path), "--blobs", str(charter.blobs), "--states", str(states)]
    how = ["--device", args.device, "--threads", str(args.threads or _threads())]
    secrets = await asyncio.to_thread(kept_secrets, secret_names(charter.manifest.sources))
    command = [*own_command("alone", "core.training.programs.alone"), *where, *how, *words]
    async with reports(command, EVENTS, secrets=secrets) as said:
        yield said


def _threads() -> int:
    """All but one."""
    return max(1, (os.cpu_count() or 1) - 1)


def changes_of(args: argparse.Namespace) -> list[Mapping[str, Number]]:
    """All combinations of the values that `--set` and `--seed` put in place of a recipe's; one without any, if none.

    For example: `--set optimizer.learning_rate=0.001,0.002`.

    Raises:
        BadInput: an option cannot be read, or names too many values.
    """
    values: dict[str, list[Number]] = {}
    for words in args.set:
        key, mark, said = words.partition("=")
        found = _values(said)
        if not (key.strip() and mark and found):
            message = "--set {words} sets nothing."
            raise BadInput(message, quoted(words), hint="Write KEY=VALUE: --set optimizer.learning_rate=0.002")
        values.setdefault(key.strip(), []).extend(found)
    if args.seed is not None:
        values.setdefault("seed", []).append(args.seed)
    combined = [dict(zip(values, each, strict=True)) for each in product(*values.values())]
    if len(combined) > RUNS_MAX:
        raise BadInput(
            "These are {count} runs; {most} are allowed.", len(combined), RUNS_MAX, hint="Name fewer values."
        )
    return list(combined)


def _values(said: str) -> Sequence[Number]:
    """Values as TOML has them, with commas between; words need no quotes."""
    try:
        found: list[Any] = tomllib.loads(f"values = [{said}]")["values"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return [word.strip() for word in said.split(",")]
    if all(isinstance(value, int | float | str) for value in found):
        return found
    return [said]
