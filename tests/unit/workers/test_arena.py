from pathlib import Path

import numpy as np
import pytest

from core.base.problems import UserProblem
from core.workers.arena import SLOTS, Arena
from tests.blocks import counts_blocks, taken_bytes


def test_numbers_written_by_one_side_are_read_by_the_other(tmp_path: Path) -> None:
    one = Arena.create(tmp_path / "arena", 1000)
    other = Arena(tmp_path / "arena", 1000)
    for number, name in enumerate(SLOTS):
        one.slot(name)[:] = np.arange(1000, dtype=np.float32) + number
    for number, name in enumerate(SLOTS):
        assert np.array_equal(other.slot(name), np.arange(1000, dtype=np.float32) + number)


def test_it_is_new_and_its_owners_only(tmp_path: Path) -> None:
    path = tmp_path / "arena"
    path.write_bytes(b"x" * 100_000)
    arena = Arena.create(path, 10)
    assert not arena.slot("mean").any()
    assert path.stat().st_mode & 0o077 == 0
    assert path.stat().st_size == len(SLOTS) * 10 * 4


def test_closing_while_a_view_lives_harms_nobody(tmp_path: Path) -> None:
    arena = Arena.create(tmp_path / "arena", 10)
    view = arena.slot("mean")
    arena.close()
    view[:] = 1
    assert view.sum() == 10


def test_a_place_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserProblem, match="could not be written"):
        Arena.create(tmp_path / "file" / "arena", 5)


@counts_blocks
def test_a_new_arena_has_no_holes(tmp_path: Path) -> None:
    numel = 200_000
    Arena.create(tmp_path / "arena", numel).close()
    assert taken_bytes(tmp_path / "arena") >= 8 * numel
