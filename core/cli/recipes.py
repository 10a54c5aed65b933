"""`potluck plan` and `potluck train`: a recipe on this computer alone."""

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from core.api.data_state import what_left_out, why_stalled
from core.api.numbers import amount, lasting, speed, volume
from core.backbone.charter import MANIFEST, Charter, load_charter
from core.backbone.support import FoundedEarlier
from core.base.problems import Busy, WorkerProblem
from core.base.recipe import Recipe
from core.cli.needs import Needs, needs_of, sent_in_epoch
from core.cli.options import recipe_file, text_folder
from core.cli.quantities import read_rate
from core.cli.say import say_json
from core.cli.tables import clean
from core.engine.data_secrets import kept_secrets, secret_names
from core.engine.data_watch import words_of
from core.engine.founding import Prepared, found, prepare
from core.storage.paths import Home
from core.storage.recipes import folder_name, open_recipe
from core.system.atomic_files import make_directory, set_aside
from core.system.child_process import own_command
from core.system.file_lock import held
from core.system.progress_bar import ProgressBar
from core.system.reports import Reports, reports

EVENTS = ("ready", "progress", "epoch", "data", "profiled", "ended", "measured")
"""Of `core.training.alone`."""
HOUR_S = 3600.0
MONTH_HOURS = 730.0
DEFAULT_UPLOAD = "20mbit"
MEASURING = "Measuring a few batches of the real model"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A recipe as a command line names it."""

    path: Path
    recipe: Recipe
    json: bool
    start: Path | None = None
    """A folder of `transformers` with the model to go on from; None: a new model."""

    @classmethod
    def of(cls, args: argparse.Namespace) -> "Chosen":
        """The recipe of the options `recipe` and `text`.

        Raises:
            BadInput: it cannot be used.
        """
        path = recipe_file(args.recipe)
        return cls(path, open_recipe(path, text=text_folder(args.text)), args.json)

    async def prepare(self, out: Path) -> Prepared:
        """Read the text and prepare the task, with a bar in the terminal."""
        bar = ProgressBar(json=self.json)
        bar.show(0.0, "Checking the recipe")
        try:
            prepared = await prepare(
                self.recipe,
                out,
                called=self.path.name,
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
    """Of it on a graphics card."""
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
    """An epoch of so many computers like this one."""
    hour_bytes: float
    """Sent in an hour, and as much received."""


def run_plan(args: argparse.Namespace) -> int:
    """`potluck plan`; see `potluck plan --help`."""
    plan = asyncio.run(_plan(args, Chosen.of(args)))
    if args.json:
        print(msgspec.json.encode(plan).decode())
    else:
        print(_plan_sentences(plan))
    return 0


def run_train(args: argparse.Namespace) -> int:
    """`potluck train`; see `potluck train --help`."""
    return asyncio.run(_train(args, Chosen.of(args)))


async def _plan(args: argparse.Namespace, chosen: Chosen) -> RecipePlan:
    upload = read_rate(args.upload) or float("inf")
    with tempfile.TemporaryDirectory(prefix="potluck-plan-", ignore_cleanup_errors=True) as name:
        prepared = await chosen.prepare(Path(name) / "prepared")
        charter = found(chosen.recipe, prepared, Path(name) / "charter")
        blobs = sum(path.stat().st_size for path in charter.blobs.iterdir())
        measured: dict[str, Any] = {}
        bar = ProgressBar(json=args.json)
        bar.show(0.0, MEASURING)
        async with _alone(charter, Path(name) / "states", ["--measure-s", str(args.seconds)], args) as said:
            async for line in said:
                if line["event"] == "progress":
                    bar.show(line["share"], MEASURING)
                elif line["event"] == "measured":
                    measured = line
        bar.clear()
    if not measured:
        raise WorkerProblem("The measurement ended without a result.", hint="What it wrote above says why.")
    manifest = charter.manifest
    alone_s = manifest.target_samples / measured["samples_per_s"]
    sent = sent_in_epoch(prepared.costs.parameters, manifest, args.peers)
    averaging_s, together_s = sent / upload, alone_s / args.peers
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
        hour_bytes=sent * HOUR_S / epoch_s,
    )


def _plan_sentences(plan: RecipePlan) -> str:
    card = f", {volume(plan.device_bytes)} on the graphics card" if plan.device_bytes else ""
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
        f"if it never stops; {volume(plan.needs.download_bytes)} to join"
    )


async def _train(args: argparse.Namespace, chosen: Chosen) -> int:
    folder = Home.find(args.home).directory / "alone" / folder_name(chosen.path, chosen.recipe)
    make_directory(folder)
    busy = Busy("This recipe is being trained here already.", hint="Wait for it, or stop it.")
    async with held(folder / "lock", patience_s=1.0, otherwise=busy):
        charter = await _founded(chosen, folder)
        metrics = args.metrics or folder / "metrics.jsonl"
        words = ["--metrics", str(metrics.expanduser().absolute())]
        words += ["--epochs", str(args.epochs)] if args.epochs is not None else []
        for name in ("prometheus", "tensorboard"):
            if getattr(args, name) is not None:
                words += [f"--{name}", str(getattr(args, name).expanduser().absolute())]
        words += ["--profile", str(folder / "profile.json")] if args.profile else []
        told = Told(json=args.json, folder=folder)
        told.bar.show(0.0, "Starting to train")
        try:
            async with _alone(charter, folder / "states", words, args) as said:
                async for line in said:
                    told.hear(line)
        except asyncio.CancelledError:
            told.stopped()
            raise
        finally:
            told.bar.clear()
    if not args.json:
        print(f"Metrics: {metrics}")
    return 0


async def _founded(chosen: Chosen, folder: Path) -> Charter:
    """The recipe's charter in a folder, made by the first run."""
    if (folder / "charter" / MANIFEST).exists():
        try:
            return load_charter(folder / "charter")
        except FoundedEarlier:
            earlier = [path for path in (folder / "charter", folder / "states") if path.exists()]
            kept = [set_aside(path, why="earlier").name for path in earlier]
            print(f"A run of an earlier version was kept as {' and '.join(kept)}; a new one begins.", file=sys.stderr)
    return found(chosen.recipe, await chosen.prepare(folder / "prepared"), folder / "charter")


@asynccontextmanager
async def _alone(
    charter: Charter, states: Path, words: Sequence[str], args: argparse.Namespace
) -> AsyncIterator[Reports]:
    """The child that trains."""
    where = ["--manifest", str(charter.manifest_path), "--blobs", str(charter.blobs), "--states", str(states)]
    how = ["--device", args.device, "--threads", str(args.threads or _threads())]
    secrets = await asyncio.to_thread(kept_secrets, secret_names(charter.manifest.sources))
    command = [*own_command("alone", "core.training.alone"), *where, *how, *words]
    async with reports(command, EVENTS, secrets=secrets) as said:
        yield said


def _threads() -> int:
    """All but one."""
    return max(1, (os.cpu_count() or 1) - 1)


class Told:
    """Says what the child reports: lines of JSON, or sentences with a bar.

    Args:
        json: Which of the two.
        folder: Where the run is kept.
    """

    def __init__(self, *, json: bool, folder: Path) -> None:
        self._json = json
        self._folder = folder
        self._epoch = 0
        self._data: dict[str, Any] = {}
        """The last news about the text, which are told once."""
        self.bar = ProgressBar(json=json)

    def hear(self, line: dict[str, Any]) -> None:
        """Say one report."""
        self._epoch = line.get("epoch", self._epoch)
        if line["event"] == "progress":
            self.bar.show(line["share"], f"epoch {amount(line['epoch'] + 1)}", part=str(line["epoch"]))
            return
        if line["event"] == "data" and line == self._data:
            return
        self._data = line if line["event"] == "data" else self._data
        self.bar.clear()
        if self._json:
            say_json(line)
        else:
            print(_sentence(line), flush=True)

    def stopped(self) -> None:
        """The person has stopped it."""
        self.bar.clear()
        print(f"Stopped; the next run goes on after epoch {amount(self._epoch)}.", file=sys.stderr)


def _sentence(line: dict[str, Any]) -> str:
    match line["event"]:
        case "ready":
            where = f"on {line['device']} in {line['precision']}"
            return f"{amount(line['parameters'])} parameters {where}, at epoch {amount(line['epoch'])}."
        case "profiled":
            return f"Profile: {line['path']} (chrome://tracing or ui.perfetto.dev opens it)"
        case "ended":
            return f"The schedule has ended at epoch {amount(line['epoch'])}: its learning rate is 0."
        case "data":
            tells = what_left_out if line["left_out"] else why_stalled
            return clean(tells(line["code"], words_of(line["arguments"], line["retry_s"])))
        case _:
            return _epoch_sentence(line)


def _epoch_sentence(line: dict[str, Any]) -> str:
    parts = [f"epoch {amount(line['epoch'])}", f"loss {line['loss']:.3f}"]
    if line["loss_heldout"] is not None:
        simpler = "".join(f", {name} {loss:.3f}" for name, loss in line["baselines"].items())
        parts.append(f"held-out {line['loss_heldout']:.3f}{simpler}")
    parts += [f"rate {line['learning_rate']:.3g}", f"norm {line['gradient_norm']:.3g}"]
    parts += [f"clipped {line['clipped']:.0%}"] if line["clipped"] else []
    parts += [f"{amount(line['samples_per_s'])} samples/s", f"{line['seconds']:.1f} s"]
    parts += [f"{line['dropped']} batches dropped"] if line["dropped"] else []
    return "  ".join(parts)
