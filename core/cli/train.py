"""`potluck train`: recipes on this computer alone, one after the other where `--set` names several values."""

import argparse
import asyncio
import shutil
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.api.data_state import what_left_out, why_stalled
from core.api.numbers import amount, per_hundred
from core.backbone.charter import MANIFEST, Charter, load_charter
from core.backbone.support import FoundedEarlier
from core.base.problems import BadInput, Busy, WorkerProblem, printable
from core.cli.organiser.recipes import Chosen, alone, changes_of
from core.cli.printing.say import model_commands, say_json
from core.engine.founding import Prepared, check, found
from core.engine.text.data_watch import words_of
from core.storage.paths import ALONE, Home
from core.storage.recipes import folder_name, told
from core.system.atomic_files import make_directory, set_aside
from core.system.file_chunks import file_digest
from core.system.file_lock import held
from core.system.progress_bar import ProgressBar

ID_LETTERS = 8
"""First letters of a manifest's id, by which `potluck try` finds the model."""


@dataclass(slots=True)
class Run:
    """One recipe with its values, in a folder of its own."""

    chosen: Chosen
    folder: Path
    charter: Charter | None = None
    """None: nothing is prepared yet."""
    last: dict[str, Any] = field(default_factory=dict)
    """Its newest epoch."""
    heldout: float | None = None
    """When it was last measured."""
    trouble: str = ""
    """Why it ended."""

    @classmethod
    def of(cls, chosen: Chosen, home: Home) -> "Run":
        """The run of a recipe, as far as it is."""
        start = b"" if chosen.start is None else _mark(chosen.start)
        return cls(chosen, home.directory / ALONE / folder_name(chosen.path, chosen.recipe, start=start))

    @property
    def model(self) -> str:
        """How its manifest's id begins."""
        return "" if self.charter is None else self.charter.manifest.id.hex()[:ID_LETTERS]


def run(args: argparse.Namespace) -> int:
    """`potluck train`; see `potluck train --help`.

    Raises:
        BadInput: an option or the recipe cannot be used.
        WorkerProblem: no run has come to its end.
    """
    runs = [Run.of(Chosen.of(args, changes), Home.find(args.home)) for changes in changes_of(args)]
    if len(runs) > 1 and args.epochs is None:
        raise BadInput("Several runs come one after the other, so each needs an end.", hint="Add --epochs N.")
    asyncio.run(_train_all(args, runs))
    return 0


async def _train_all(args: argparse.Namespace, runs: Sequence[Run]) -> None:
    async with AsyncExitStack() as locks:
        for each in {one.folder: one for one in runs}.values():
            make_directory(each.folder)
            busy = Busy("This recipe is being trained here already.", hint="Wait for it, or stop it.")
            await locks.enter_async_context(held(each.folder / "lock", patience_s=1.0, otherwise=busy))
        await _found_all(runs)
        for each in runs:
            if len(runs) > 1 and not args.json:
                print(f"{told(each.chosen.changes)}:", flush=True)
            try:
                await _train(args, each)
            except WorkerProblem as problem:
                if len(runs) == 1:
                    raise
                each.trouble = printable(str(problem))
                print(each.trouble, file=sys.stderr)
    if len(runs) > 1:
        _tell_all(runs, json=args.json)
    if all(each.trouble for each in runs):
        raise WorkerProblem("None of these runs has come to its end.", hint="What was said above says why.")


async def _found_all(runs: Sequence[Run]) -> None:
    """Make the charters that are not there; text is prepared once for all recipes that cut it alike."""
    for each in runs:
        each.charter = _kept(each.folder)
    new = [each for each in runs if each.charter is None]
    if len(new) > 1:
        await check({each.chosen.called: each.chosen.recipe for each in new})
    prepared: dict[bytes, Prepared] = {}
    made = [each.folder / "prepared" for each in new]
    try:
        for each in new:
            work = each.chosen.recipe.text_work
            if work not in prepared:
                prepared[work] = await each.chosen.prepare(each.folder / "prepared")
            each.charter = found(each.chosen.recipe, prepared[work], each.folder / "charter", keep=True)
    finally:
        for folder in made:
            shutil.rmtree(folder, ignore_errors=True)


def _kept(folder: Path) -> Charter | None:
    """The charter of an earlier run."""
    if not (folder / "charter" / MANIFEST).exists():
        return None
    try:
        return load_charter(folder / "charter")
    except FoundedEarlier:
        earlier = [path for path in (folder / "charter", folder / "states") if path.exists()]
        kept = [set_aside(path, why="earlier").name for path in earlier]
        print(f"A run of an earlier version was kept as {' and '.join(kept)}; a new one begins.", file=sys.stderr)
        return None


async def _train(args: argparse.Namespace, each: Run) -> None:
    assert each.charter is not None
    metrics = args.metrics or each.folder / "metrics.jsonl"
    words = ["--metrics", str(metrics.expanduser().absolute())]
    words += ["--epochs", str(args.epochs)] if args.epochs is not None else []
    for name in ("prometheus", "tensorboard"):
        if getattr(args, name) is not None:
            words += [f"--{name}", str(getattr(args, name).expanduser().absolute())]
    words += ["--profile", str(each.folder / "profile.json")] if args.profile else []
    said = Said(each, json=args.json)
    said.bar.show(0.0, "Starting to train")
    try:
        async with alone(each.charter, each.folder / "states", words, args) as lines:
            async for line in lines:
                said.hear(line)
    except asyncio.CancelledError:
        said.stopped()
        raise
    finally:
        said.bar.clear()
    if not args.json:
        print(f"Metrics: {metrics}")
        uses = model_commands(has_experts=each.charter.manifest.mixture is not None)
        print(f"To use its model: {uses}, with --collaboration {each.model}")


def _tell_all(runs: Sequence[Run], *, json: bool) -> None:
    """What the runs have come to, in a table."""
    rows = [
        {
            "set": dict(each.chosen.changes),
            **{name: each.last.get(name) for name in ("epoch", "loss", "samples_per_s")},
            "loss_heldout": each.heldout,
            "collaboration": each.model,
            "trouble": each.trouble,
        }
        for each in runs
    ]
    if json:
        say_json({"event": "runs", "runs": rows})
        return
    table = [[*runs[0].chosen.changes, "epoch", "loss", "held-out", "samples/s", "model"]]
    for each in runs:
        losses = [f"{loss:.4f}" if loss is not None else "-" for loss in (each.last.get("loss"), each.heldout)]
        speed = amount(each.last["samples_per_s"]) if each.last else "-"
        values = [str(value) for value in each.chosen.changes.values()]
        ended = f"{each.model}  {each.trouble}".rstrip()
        table.append([*values, str(each.last.get("epoch", "-")), *losses, speed, ended])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    print("\n" + "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in table))


def _mark(start: Path) -> bytes:
    """What tells a model to begin with from others."""
    weights = start / "model.safetensors"
    return str(start).encode() + (file_digest(weights) if weights.is_file() else b"")


class Said:
    """Says what the child reports: lines of JSON, or sentences with a bar.

    Args:
        run: Which keeps the newest epoch.
        json: Whether lines of JSON.
    """

    def __init__(self, run: Run, *, json: bool) -> None:
        self._json = json
        self._run = run
        self._epoch = 0
        self._data: dict[str, Any] = {}
        """The last news about the text, which are told once."""
        self.bar = ProgressBar(json=json)

    def hear(self, line: dict[str, Any]) -> None:
        """Say one report of the child, or keep what the table needs of it."""
        self._epoch = line.get("epoch", self._epoch)
        match line["event"]:
            case "progress":
                self.bar.show(line["share"], f"epoch {amount(line['epoch'] + 1)}", part=str(line["epoch"]))
                return
            case "data":
                if line == self._data:
                    return
                self._data = line
            case "epoch":
                self._run.last = line
                self._run.heldout = self._run.heldout if line["loss_heldout"] is None else line["loss_heldout"]
        self.bar.clear()
        if self._json:
            say_json({**line, "set": dict(self._run.chosen.changes)} if self._run.chosen.changes else line)
        else:
            print(_sentence(line), flush=True)

    def stopped(self) -> None:
        """Say that the person has stopped it, and where it goes on."""
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
            return printable(str(tells(line["code"], words_of(line["arguments"], line["retry_s"]))))
        case _:
            return _epoch_sentence(line)


def _epoch_sentence(line: dict[str, Any]) -> str:
    parts = [f"epoch {amount(line['epoch'])}", f"loss {line['loss']:.3f}"]
    if line["loss_heldout"] is not None:
        simpler = "".join(f", {name} {loss:.3f}" for name, loss in line["baselines"].items())
        parts.append(f"held-out {line['loss_heldout']:.3f}{simpler}")
        parts += [f"{per_hundred(line['right'])} {line['guesses']} right"] if line["right"] is not None else []
        parts += [f"order {line['order_heldout']:.0%}"] if line["order_heldout"] is not None else []
    parts += [f"rate {line['learning_rate']:.3g}", f"norm {line['gradient_norm']:.3g}"]
    parts += [f"clipped {line['clipped']:.0%}"] if line["clipped"] else []
    parts += [f"{amount(line['samples_per_s'])} samples/s", f"{line['seconds']:.1f} s"]
    parts += [f"{line['dropped']} batches dropped"] if line["dropped"] else []
    return "  ".join(parts)
