"""A home in which a small model was really trained, as an engine leaves it."""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import resources
from core.api.snapshot import CurvePoint
from core.base.content import digest
from core.base.ids import PeerId
from core.base.manifest import Manifest, sign_manifest
from core.base.signing import KeyPair
from core.ledger.board import Board
from core.ledger.ledger import Ledger, LedgerRow
from core.storage.paths import Home
from core.storage.recipes import open_recipe
from core.tasks import task_of
from core.tasks.albert.task import Albert
from core.tasks.gpt_cutting import Alphabet, read_counts, windows
from core.tasks.task import Blobs, PreparedTask, Task
from core.text.order.documents import Document
from core.training.learner import Learner
from tests.small_task import small_data, small_task
from tests.unit.training.given_samples import GivenSamples, text_batches
from tests.unit.training.small import ticking

AUTHORITY = KeyPair(b"a" * 32)
ADA, BOB = PeerId(b"\1" * 32), PeerId(b"\2" * 32)
NAMES = {ADA: "Ada", BOB: "<b>Bob</b> | [x](http://evil)"}
LEDGER = Ledger({ADA: LedgerRow(3000, 9, 9, 0), BOB: LedgerRow(1000, 4, 9, 5)}, [CurvePoint(1, 4.0)])
RECIPES = {"albert": "first-words.toml", "gpt": "small-gpt.toml"}
"""Whose optimiser a task's small model is trained with."""
EPOCHS = 9
SAMPLES = 128


@dataclass(frozen=True)
class Trained:
    home: Home
    manifest: Manifest
    task: Task
    learner: Learner

    @property
    def states(self) -> Path:
        return self.home.state(self.manifest.id.hex()) / "states"


def founded(prepared: PreparedTask, blobs: Path, task: str) -> tuple[Manifest, Task]:
    """The manifest of a prepared task, and the task; its blobs are copied into a folder."""
    blobs.mkdir(parents=True, exist_ok=True)
    names = {name: digest(path.read_bytes()).hex() for name, path in prepared.blobs.items()}
    for name, path in prepared.blobs.items():
        shutil.copyfile(path, blobs / names[name])
    manifest = Manifest(
        name="Words *for* all",
        summary="A model learns from <script>texts</script>.",
        organiser="the _organiser_",
        task=task,
        numbers=prepared.numbers,
        data=small_data(prepared),
        blobs=names,
        optimizer=open_recipe(resources.file("recipes", RECIPES[task])).epochs_optimizer,
        target_samples=SAMPLES,
        authority=AUTHORITY.peer_id.hex(),
    )
    return manifest, task_of(manifest, Blobs(blobs, manifest.blobs))


def learner_of(manifest: Manifest, task: Task, states: Path, blobs: Path | None = None) -> Learner:
    """A learner; `blobs`, where it shall train, is the folder of the manifest's."""
    samples = GivenSamples(0, lambda seed: iter(()) if blobs is None else batches_of(manifest, blobs, seed))
    return Learner(task=task, manifest=manifest, states=states, samples=samples, devices=["cpu"], clock=ticking())


def batches_of(manifest: Manifest, blobs: Path, seed: int = 0) -> Iterator[Any]:
    """Batches of a manifest's text."""
    return text_batches(manifest, Blobs(blobs, manifest.blobs), seed)


def trained(folder: Path, task: str, *, epochs: int = EPOCHS, numbers: Mapping[str, int] | None = None) -> Trained:
    """Train a task alone for some epochs, in a home with its manifest, files, states and names."""
    home = Home(folder / "home")
    prepared = small_task(folder / "task", numbers, task=task)
    manifest, opened = founded(prepared, home.blobs, task)
    kept = home.state(manifest.id.hex())
    kept.mkdir(parents=True)
    (kept / "manifest.json").write_bytes(sign_manifest(manifest, AUTHORITY))
    learner = learner_of(manifest, opened, kept / "states", home.blobs)
    for epoch in range(1, epochs + 1):
        while learner.samples < SAMPLES:
            assert learner.accumulate()
        learner.absorb(learner.hand_over(), epoch=epoch, lineage=digest(bytes([epoch])), ledger=LEDGER.to_bytes())
    assert learner.state.saved.path.exists()
    board = Board(home.board(manifest.id.hex()), target_samples=SAMPLES)
    board.named(NAMES)
    board.save()
    return Trained(home, manifest, opened, learner)


def held_out(manifest: Manifest, task: Task, blobs: Path) -> dict[str, np.ndarray]:
    """The batches that a collaboration measures with, as plain arrays."""
    if isinstance(task, Albert):
        batches = task.held_out
        starts = np.cumsum([0, *(batch.pieces_BT.size for batch in batches)])
        return {
            "pieces": np.concatenate([batch.pieces_BT for batch in batches]),
            "types": np.concatenate([batch.types_BT for batch in batches]),
            "present": np.concatenate([batch.present_BT for batch in batches]),
            "places": np.concatenate([one.places_M + start for one, start in zip(batches, starts, strict=False)]),
            "words": np.concatenate([batch.words_M for batch in batches]),
        }
    files = Blobs(blobs, manifest.blobs)
    counts = read_counts(files)
    alphabet = Alphabet(list(counts), len(counts))
    found = windows(files.decode("held_out", list[Document]), alphabet, int(manifest.numbers["length"]))
    return {"rows": np.array(list(islice(found, task.numbers.held_out)), np.int64)}
