import math
import os
import random
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

from core.api.data_state import DataCode
from core.reading.block_file import HEADER_BYTES, SEAL_BYTES, BlockFile, Seal, Shape, read_seal
from core.reading.block_store import BlockKey, BlockStore
from core.reading.room import DiskRoom
from core.system.usage import on_disk
from core.text.sources.source import SourceStalled

SHAPE = Shape(3, wide=False)
ROWS = 100
SIZE = on_disk(HEADER_BYTES + ROWS * 6 + SEAL_BYTES)
LISTING, CUTTER = b"l" * 32, b"c" * 32


def opened(folder: Path, *, blocks: int, cutter: bytes = CUTTER, listing: bytes = LISTING) -> BlockStore:
    store = BlockStore(folder, SHAPE, cutter, DiskRoom(blocks * SIZE, folder))
    store.open_source(0, listing)
    return store


def make(store: BlockStore, shard: int, block: int = 0, first: int = 0) -> BlockKey:
    key = BlockKey(0, shard, first)
    file = store.begin(key, block)
    store.append(file, np.full((ROWS, 3), shard))
    store.finish(key, file, last=True)
    return key


def fill(store: BlockStore, file: BlockFile) -> None:
    for _ in range(SIZE):
        store.append(file, np.zeros((100, 3)))


def shards_in(folder: Path) -> set[int]:
    return {int(path.name.split(".")[0]) for path in folder.glob("*/*.npy")}


@pytest.mark.parametrize("wide", [False, True])
def test_a_growing_file_is_one_that_numpy_maps(wide: bool, tmp_path: Path) -> None:  # noqa: FBT001
    shape = Shape(5, wide)
    rows = np.random.default_rng(1).integers(0, 2**32 if wide else 2**16, (1000, 5))
    file = BlockFile(tmp_path / "a.npy", shape)
    early = None
    for start in range(0, 1000, 300):
        file.append(rows[start : start + 300])
        found = np.load(tmp_path / "a.npy", mmap_mode="r")
        early = found if early is None else early
        assert found.dtype == shape.dtype
        assert np.array_equal(found, rows[: start + 300])
        assert read_seal(tmp_path / "a.npy", shape) is None
    file.seal(last=False)
    assert early is not None
    assert np.array_equal(early, rows[:300])
    assert np.array_equal(np.load(tmp_path / "a.npy"), rows)
    assert read_seal(tmp_path / "a.npy", shape) == Seal(1000, last=False)
    assert read_seal(tmp_path / "a.npy", Shape(4, wide)) is None


def test_every_damage_of_a_file_is_found(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    file = BlockFile(path, SHAPE)
    file.append(np.ones((ROWS, 3)))
    file.seal(last=True)
    right = path.read_bytes()
    for place in range(0, len(right) - 15, 7):  # the last bytes mean nothing
        path.write_bytes(right[:place] + bytes([right[place] ^ 1]) + right[place + 1 :])
        assert read_seal(path, SHAPE) is None
    for wrong in (b"", right[:-1], right + b"x", right[:HEADER_BYTES]):
        path.write_bytes(wrong)
        assert read_seal(path, SHAPE) is None


def test_blocks_are_found_again_and_others_go(tmp_path: Path) -> None:
    key = make(opened(tmp_path, blocks=9), 4, block=2, first=77)
    store = opened(tmp_path, blocks=9)
    kept = store.find(key)
    assert kept is not None
    assert (kept.block, kept.seal) == (2, Seal(ROWS, last=True))
    assert store.place(0, 4, 500) == (2, 77)
    assert store.place(0, 4, 76) == (0, 0)
    kept.path.write_bytes(b"torn")
    assert opened(tmp_path, blocks=9).find(key) is None
    assert shards_in(tmp_path) == set()
    make(opened(tmp_path, blocks=9), 5)
    assert opened(tmp_path, blocks=9, cutter=b"x" * 32).stored_bytes == 0
    assert shards_in(tmp_path) == set()


def test_what_was_just_used_up_goes_first(tmp_path: Path) -> None:
    store = opened(tmp_path, blocks=3)
    keys = [make(store, shard) for shard in range(3)]
    for shard in (2, 0):
        store.drop(keys[shard])
    make(store, 3)
    assert shards_in(tmp_path) == {1, 2, 3}
    make(store, 4)
    assert shards_in(tmp_path) == {1, 3, 4}
    with pytest.raises(SourceStalled) as stalled:  # all are in use
        make(store, 5)
    assert stalled.value.code == DataCode.NO_SPACE
    assert shards_in(tmp_path) == {1, 3, 4}
    store.drop(keys[1])
    make(store, 5)
    assert shards_in(tmp_path) == {3, 4, 5}
    assert store.stored_bytes == 3 * SIZE


def test_block_that_outgrows_the_room_is_refused(tmp_path: Path) -> None:
    store = opened(tmp_path, blocks=3)
    make(store, 0)
    file = store.begin(BlockKey(0, 1, 0), 0)
    with pytest.raises(SourceStalled):
        fill(store, file)
    assert file.size <= 2 * SIZE
    store.give_up(file)
    assert store.stored_bytes == SIZE
    with pytest.raises(SourceStalled):  # it begins only where there is room for one as large
        store.begin(BlockKey(0, 1, 0), 0)


def test_after_a_restart_the_newest_go_first(tmp_path: Path) -> None:
    store = opened(tmp_path, blocks=9)
    for shard in range(4):
        make(store, shard)
    for number, path in enumerate(sorted(tmp_path.glob("*/*.npy"), key=lambda path: int(path.name[0]))):
        os.utime(path, (number, number))
    opened(tmp_path, blocks=2)
    assert shards_in(tmp_path) == {0, 1}


def hits(policy: str, *, blocks: int = 200, share: float = 0.5, passes: int = 60, same: bool = False) -> float:
    """How often a block is still there when a pass comes to it, by a model of the store and of its rival."""
    chance = random.Random(1)
    order = list(range(blocks))
    kept: OrderedDict[int, None] = OrderedDict()
    found = 0
    for number in range(passes):
        if not same:
            chance.shuffle(order)
        for block in order:
            found += block in kept and number > passes // 4
            kept[block] = None
            kept.move_to_end(block)
            while len(kept) > share * blocks:
                others = [other for other in kept if other != block]
                kept.pop(others[0] if policy == "least recently used" else others[-1])
    return found / (blocks * (passes - passes // 4 - 1))


def test_the_rule_keeps_what_a_cache_can_give() -> None:
    assert hits("store") == pytest.approx(0.5, abs=0.01)
    # A block at x of a pass and y of the next is still there if the 1 - x(1 - y) others between them are fewer.
    assert hits("least recently used") == pytest.approx(1 - 0.5 * (1 - math.log(0.5)), abs=0.01)
    assert hits("store", same=True) == pytest.approx(0.5, abs=0.01)
    assert hits("least recently used", same=True) == 0
