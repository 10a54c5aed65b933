"""Images of idx files as texts: all of them, and what of broken ones."""

import gzip
import struct
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest

from core.base.data_source import DataSource
from core.base.problems import BadInput
from core.text.sources.opening import open_source
from core.text.sources.source import Access, LeftOut, ShardUnreadable
from core.text.sources.texts import texts_of

Change = Callable[[bytes], bytes | None]
IMAGES, CLASSES = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"


def idx_folder(folder: Path, count: int = 30, *, side: int = 4, packed: bool = False) -> tuple[Path, np.ndarray]:
    """A folder with images and classes; and their rows."""
    random = np.random.default_rng(count)
    rows = np.column_stack([random.integers(0, 10, count), random.integers(0, 256, (count, side * side))])
    rows = rows.astype(np.uint8)
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        IMAGES: struct.pack(">4B3I", 0, 0, 8, 3, count, side, side) + rows[:, 1:].tobytes(),
        CLASSES: struct.pack(">4BI", 0, 0, 8, 1, count) + rows[:, 0].tobytes(),
    }
    for name, data in files.items():
        (folder / (name + ".gz" * packed)).write_bytes(gzip.compress(data) if packed else data)
    return folder, rows


def read(folder: Path) -> list[str]:
    source = DataSource(address=str(folder))
    shards = open_source(source, Access(folder=folder))
    return [
        text for number in range(len(shards.listing().shards)) for piece in shards.read(number) for text in piece.texts
    ]


@pytest.mark.parametrize("packed", [False, True])
def test_images_are_texts_of_hexadecimal_digits(tmp_path: Path, *, packed: bool) -> None:
    folder, rows = idx_folder(tmp_path / "digits", packed=packed)
    assert read(folder) == [row.tobytes().hex() for row in rows]
    documents = list(texts_of(DataSource(address=str(folder))).sampled(Random(0)))
    assert documents == [[row.tobytes().hex()] for row in rows]


def test_text_beside_images_is_not_data(tmp_path: Path) -> None:
    folder, rows = idx_folder(tmp_path / "digits")
    (folder / "SOURCE.txt").write_text("Digits that people wrote.\n")
    assert read(folder) == [row.tobytes().hex() for row in rows]
    (folder / IMAGES).unlink()
    assert read(folder) == ["Digits that people wrote.\n"]


def test_many_images_come_in_pieces_and_blocks(tmp_path: Path) -> None:
    folder, rows = idx_folder(tmp_path / "digits", 3000, side=28)
    shards = open_source(DataSource(address=str(folder)), Access(folder=folder))
    pieces = list(shards.read(0))
    assert len(pieces) > 1
    assert [text for piece in pieces for text in piece.texts] == [row.tobytes().hex() for row in rows]
    later = list(shards.read(0, 1))
    assert [piece.texts for piece in later] == [piece.texts for piece in pieces if piece.block >= 1]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (IMAGES, lambda data: data[:10]),
        (IMAGES, lambda data: b"\0\0\x08\x04" + data[4:]),
        (IMAGES, lambda data: data[:4] + struct.pack(">3I", 30, 0, 4) + data[16:]),
        (IMAGES, lambda data: data[:4] + struct.pack(">3I", 30, 2**31, 2**31) + data[16:]),
        (CLASSES, lambda data: data[:4] + struct.pack(">I", 31) + data[8:]),
        (CLASSES, lambda data: data[:5]),
        (CLASSES, lambda data: None),
    ],
)
def test_broken_files_are_refused_not_guessed(tmp_path: Path, name: str, change: Change) -> None:
    folder, _ = idx_folder(tmp_path / "digits")
    changed = change((folder / name).read_bytes())
    if changed is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(changed)
    with pytest.raises((ShardUnreadable, BadInput)):
        read(folder)


@pytest.mark.parametrize("name", [IMAGES, CLASSES])
def test_a_file_that_breaks_off_gives_what_came_before(tmp_path: Path, name: str) -> None:
    folder, rows = idx_folder(tmp_path / "digits")
    (folder / name).write_bytes((folder / name).read_bytes()[:-1])
    told: list[LeftOut] = []
    source = DataSource(address=str(folder))
    (piece,) = open_source(source, Access(folder=folder, pass_over=told.append)).read(0)
    assert list(piece.texts) == [row.tobytes().hex() for row in rows[:-1]]
    assert [one.name for one in told] == [IMAGES]
