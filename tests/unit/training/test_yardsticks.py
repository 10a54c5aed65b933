"""The loops that training is measured against really train, all of them."""

from pathlib import Path

import msgspec
import pytest
import torch

from core.base.content import digest
from core.base.manifest import Manifest
from core.tasks import task_of
from core.tasks.task import Blobs
from core.training import yardsticks
from tests.small_task import small_task


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    prepared = small_task(tmp_path)
    blobs = {name: digest(path.read_bytes()).hex() for name, path in prepared.blobs.items()}
    for name, path in prepared.blobs.items():
        path.rename(tmp_path / blobs[name])
    return Manifest(
        name="test", organiser="test", task="albert", numbers=prepared.numbers, blobs=blobs, authority="00" * 32
    )


def test_measure_finds_a_speed_for_each_loop(manifest: Manifest, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(yardsticks, "FIRST_S", 0.1)
    task = task_of(manifest, Blobs(tmp_path, manifest.blobs))
    found = yardsticks.measure(task, manifest, tmp_path, seconds=0.1, turns=1)
    assert min(found.worker, found.plain, found.first_seconds, found.first_batch_s, found.still_s) > 0
    assert (found.trainer is None) == bool(found.trainer_skipped)
    assert found.parameters == sum(parameter.numel() for parameter in task.model(0).parameters())
    assert msgspec.json.decode(msgspec.json.encode(found), type=type(found)) == found


def test_rows_for_transformers_hold_the_same_answers(manifest: Manifest, tmp_path: Path) -> None:
    task = task_of(manifest, Blobs(tmp_path, manifest.blobs))
    batch = next(task.batches(0))
    rows = list(yardsticks.transformers_rows(batch))
    labels = torch.from_numpy(batch.words_M)
    told = [label for row in rows for label in row["labels"] if label != yardsticks.NOT_A_WORD]
    assert len(rows) == batch.samples
    assert told == labels.tolist()
