"""The task of digits: what it prepares, and what its cutter and its trunk make of images."""

from pathlib import Path
from random import Random

import msgspec
import numpy as np
import pytest
import torch

from core.base.content import digest
from core.base.data_source import DataSource
from core.base.manifest import Manifest
from core.base.mixture import ExpertNumbers
from core.base.problems import BadInput
from core.reading.rows import open_cutter
from core.tasks import module_of, task_of
from core.tasks.digits import costs
from core.tasks.digits_cutting import DigitsCutter
from core.tasks.task import Blobs
from core.tasks.text import text_of
from tests.small_task import sources_in, text_folder
from tests.unit.sources.test_images import idx_folder

EXPERTS = ExpertNumbers(layers=2, grid=(3, 3), live=9, width=16)


def founded(folder: Path, **changes: object) -> tuple[Manifest, Blobs]:
    images, _ = idx_folder(folder / "images", 2000, side=4)
    numbers = {"pixels": 16, "micro_batch": 8, "held_out": 40}
    text = text_of((DataSource(address=str(images)),))
    prepared = module_of("digits").prepare(numbers, text, folder / "out", progress=lambda *_: None)
    for path in prepared.blobs.values():
        (folder / digest(path.read_bytes()).hex()).write_bytes(path.read_bytes())
    blobs = {name: digest(path.read_bytes()).hex() for name, path in prepared.blobs.items()}
    manifest = Manifest(name="t", organiser="t", task="digits", experts=EXPERTS, authority="00" * 32)
    manifest = msgspec.structs.replace(manifest, **{"numbers": prepared.numbers, "blobs": blobs} | changes)
    return manifest, Blobs(folder, manifest.blobs)


def test_a_prepared_task_opens_and_measures(tmp_path: Path) -> None:
    manifest, blobs = founded(tmp_path)
    task = task_of(manifest, blobs)
    model = task.model(1)
    found = task.evaluate(model)
    assert 0 < found.score.loss < 10
    assert found.baselines["digit frequencies"].loss == pytest.approx(np.log(10), abs=0.2)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    assert costs(manifest.numbers, EXPERTS).parameters == parameters
    assert torch.equal(task.model(1).into.weight, model.into.weight)
    assert open_cutter(manifest, blobs).width == 17


def test_a_cutter_takes_images_of_its_size_only() -> None:
    cutter = DigitsCutter(4)
    documents = [["0701020304"], ["07010203"], ["0a01020304"], ["no hex 234"], [], ["07", "01020304"], ["\u0667" * 10]]
    rows = list(cutter.cut(documents, Random(0)))
    assert [row.tolist() for row in rows] == [[7, 1, 2, 3, 4], [7, 1, 2, 3, 4]]
    assert all(row.dtype == np.uint16 for row in rows)
    assert cutter.text_of(rows[0]) == "7"


@pytest.mark.parametrize("files", [1, None])
def test_text_without_images_is_a_sentence(tmp_path: Path, files: int | None) -> None:
    folder = text_folder(tmp_path / "text")
    for path in sorted(folder.iterdir())[files:] if files else []:
        path.unlink()
    text = text_of(sources_in(folder))
    with pytest.raises(BadInput, match=r"learns from images, and .* has too few of 784 pixels: 0 to learn from"):
        module_of("digits").prepare({}, text, tmp_path / "out", progress=lambda *_: None)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("counts", b"[1, 2]"),
        ("counts", b"[-1, 0, 0, 0, 0, 0, 0, 0, 0, 0]"),
        ("counts", b'{"a": 1}'),
        ("held_out", b"[]"),
        ("held_out", b'[["07"]]'),
        ("held_out", b"[1]"),
    ],
)
def test_a_stranger_s_blobs_are_refused(tmp_path: Path, name: str, data: bytes) -> None:
    manifest, _ = founded(tmp_path)
    (tmp_path / digest(data).hex()).write_bytes(data)
    changed = msgspec.structs.replace(manifest, blobs=manifest.blobs | {name: digest(data).hex()})
    with pytest.raises(BadInput):
        task_of(changed, Blobs(tmp_path, changed.blobs))


def test_a_task_without_its_experts_is_refused(tmp_path: Path) -> None:
    manifest, blobs = founded(tmp_path, experts=msgspec.UNSET)
    with pytest.raises(BadInput, match="needs a table"):
        task_of(manifest, blobs)


@pytest.mark.parametrize(("codec", "width", "most"), [("raw", 4096, 63), ("fp16", 4096, 127), ("u8", 4096, 254)])
def test_micro_batch_is_refused_above_a_message(tmp_path: Path, codec: str, width: int, most: int) -> None:
    """All rows of a batch may choose one expert, which gets them with their gradients in one call."""
    experts = ExpertNumbers(layers=1, grid=(2, 2), live=4, top=1, width=width, factor=1, codec=codec)
    manifest, blobs = founded(tmp_path)
    fits, large = ({**manifest.numbers, "micro_batch": size} for size in (most, most + 1))
    costs(fits, experts)
    task_of(msgspec.structs.replace(manifest, numbers=fits, experts=experts), blobs)
    refused = f"micro_batch must be at most {most}, .* not {most + 1}"
    with pytest.raises(BadInput, match=refused):
        costs(large, experts)
    with pytest.raises(BadInput, match=refused):
        task_of(msgspec.structs.replace(manifest, numbers=large, experts=experts), blobs)


def test_measured_batches_are_no_larger_than_micro_batch(tmp_path: Path) -> None:
    task = task_of(*founded(tmp_path))
    assert max(batch.samples for batch in task.held_out) == 8
    assert sum(batch.samples for batch in task.held_out) == 40
