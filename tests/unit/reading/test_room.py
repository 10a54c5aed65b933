import errno
import os
from pathlib import Path
from random import Random

import numpy as np
import pytest

from core.api.data_state import DataCode, why_stalled
from core.base.problems import UserProblem
from core.reading.block_file import Shape
from core.reading.block_store import BlockKey, BlockStore
from core.reading.copies import SharedCopies
from core.reading.desk import Desk
from core.reading.room import DiskRoom
from core.system.atomic_files import make_directory
from core.text.sources.source import SourceStalled
from tests.blocks import counts_blocks, taken_bytes

BLOCK = 4096
DIGEST = "ab" * 32


def put(folder: Path, name: str, size: int, *, at: int = 0) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    os.utime(path, (at, at))
    return path


def taken(*folders: Path) -> int:
    """What the disk holds of these folders."""
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return sum(map(taken_bytes, files))


def test_files_of_others_go_first_and_the_oldest_of_them(tmp_path: Path) -> None:
    own, one, two = tmp_path / "own", tmp_path / "one", tmp_path / "two"
    mine = put(own, "0-a-b/1.0.0.npy", BLOCK, at=1)
    old, new = put(one, "0-c-d/1.0.0.npy", BLOCK, at=2), put(two, DIGEST, BLOCK, at=4)
    middle = put(two, f"incoming/{DIGEST}.part", BLOCK, at=3)
    put(two, "00001.jsonl.zst", 9 * BLOCK)
    room = DiskRoom(5 * BLOCK, own, [one, two])
    assert room.taken_bytes == 4 * BLOCK
    for number, left in enumerate(([mine, old, new, middle], [mine, new, middle], [mine, new], [mine])):
        room.use(own / f"{number}.0.0.npy", BLOCK)
        assert [path for path in (mine, old, new, middle) if path.exists()] == left
    room.use(own / "5.0.0.npy", BLOCK)
    assert not mine.exists()
    with pytest.raises(SourceStalled):
        room.use(own / "6.0.0.npy", 1)
    assert (two / "00001.jsonl.zst").exists()


def test_a_smaller_room_is_kept_from_the_start(tmp_path: Path) -> None:
    for number in range(6):
        put(tmp_path, f"0-a-b/{number}.0.0.npy", BLOCK, at=number)
    assert DiskRoom(2 * BLOCK, tmp_path).taken_bytes == 2 * BLOCK
    assert {path.name[0] for path in tmp_path.glob("*/*")} == {"0", "1"}


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_full_disk_is_told_and_frees_what_may_go(code: int, tmp_path: Path) -> None:
    idle = put(tmp_path, "0-a-b/1.0.0.npy", BLOCK)
    room = DiskRoom(9 * BLOCK, tmp_path)
    room.use(tmp_path / "2.0.0.npy", BLOCK)
    with pytest.raises(SourceStalled) as stalled, room.writing():
        raise OSError(code, "full")
    assert (stalled.value.code, stalled.value.arguments) == (DataCode.NO_SPACE, {"bytes": BLOCK})
    assert not idle.exists()


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS, errno.EIO, errno.EMFILE, errno.EFBIG])
def test_other_trouble_is_told_in_the_systems_words(code: int, tmp_path: Path) -> None:
    idle = put(tmp_path, "0-a-b/1.0.0.npy", BLOCK)
    room = DiskRoom(9 * BLOCK, tmp_path)
    with pytest.raises(SourceStalled) as stalled, room.writing():
        raise OSError(code, os.strerror(code))
    assert stalled.value.code == DataCode.UNWRITABLE
    said = str(why_stalled(stalled.value.code, {k: str(v) for k, v in stalled.value.arguments.items()}))
    assert f"{tmp_path} could not be written ({os.strerror(code)})." in said
    assert idle.exists()


def test_file_in_the_place_of_a_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "blocks").write_bytes(b"")
    with pytest.raises(SourceStalled) as stalled, DiskRoom(BLOCK, tmp_path).writing():
        make_directory(tmp_path / "blocks" / "0-a-b")
    assert stalled.value.code == DataCode.UNWRITABLE
    assert stalled.value.arguments["why"]
    with pytest.raises(SourceStalled), DiskRoom(BLOCK, tmp_path).writing():
        raise UserProblem("without a cause")


class Origin:
    """Shards of one size, whose servers break off now and then."""

    def __init__(self, size: int, random: Random) -> None:
        self.size, self._random = size, random

    def size_bytes(self, shard: int) -> int:
        return self.size

    def fetch(self, shard: int, path: Path, look) -> None:  # type: ignore[no-untyped-def]
        part = path.with_suffix(".part")
        with part.open("ab") as file:
            file.write(b"x" * min(self.size - file.tell(), self._random.randrange(self.size)))
            if self._random.random() < 0.5:
                raise SourceStalled(DataCode.NO_ANSWER, host="texts.org")
            file.write(b"x" * (self.size - file.tell()))
        part.replace(path)


@pytest.mark.parametrize("seed", range(6))
@counts_blocks
def test_disk_never_holds_more_than_its_room(seed: int, tmp_path: Path) -> None:
    random, shape = Random(seed), Shape(64, wide=False)
    own, other = tmp_path / "own", tmp_path / "other"
    for number in range(10):
        put(other, f"0-a-b/{number}.0.0.npy", random.randrange(1, 9 * BLOCK), at=number)
    most = 60 * BLOCK
    room = DiskRoom(most, own, [other])
    store = BlockStore(own, shape, b"c" * 32, room)
    copies = [SharedCopies(source, Origin(7 * BLOCK + 5, random), Desk(), own / "shards", room) for source in (0, 1)]  # type: ignore[arg-type]
    for source in (0, 1):
        store.open_source(source, b"l" * 32)
    in_use: list[BlockKey] = []
    stalls = made = 0
    for step in range(400):
        key = BlockKey(random.randrange(2), step, 0)
        file = None
        try:
            if random.random() < 0.4:
                shard = random.randrange(6)
                copies[key.source].fetch(shard, lambda: None)
                if random.random() < 0.5:
                    copies[key.source].done(shard)
            else:
                file = store.begin(key, 0)
                for _ in range(random.randrange(1, 12)):
                    store.append(file, np.zeros((random.randrange(1, 60), 64)))
                    assert taken(own, other) <= most
                store.finish(key, file, last=True)
                in_use.append(key)
                made += 1
        except SourceStalled:
            stalls += 1
            if file is not None:
                store.give_up(file)
        assert taken(own, other) <= most
        assert room.taken_bytes <= most
        while in_use and random.random() < 0.45:
            store.drop(in_use.pop(random.randrange(len(in_use))))
    assert made > 50
    assert stalls > 5
