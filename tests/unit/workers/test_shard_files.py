"""Shards on the disk: put together, resumed, found again, and only so many that are partly here."""

import os
from pathlib import Path
from random import Random

import psutil
import pytest

from core.base.content import CHUNK_BYTES, chunk_digests, root_digest
from core.base.ids import PeerId
from core.base.machine import Received, Trace
from core.base.problems import Damaged
from core.kept.shard_files import DiskShardStore, is_shard, seeds_in
from core.swarm.catching_up.fetch import FileFetch
from core.swarm.shards.holder_book import HolderBook
from core.swarm.shards.names import Catalogue, ShardEntry, ShardName
from core.swarm.shards.shelf import ShardShelf
from core.swarm.words.messages import SHARD_FILES, ShardDenied, ShardOffer
from core.swarm.words.outputs import FetchFailed
from core.system.usage import on_disk
from tests.blocks import counts_blocks, taken_bytes

SHARDS = [Random(number).randbytes(2 * CHUNK_BYTES + 100) for number in range(7)]
PIECES = [[data[at : at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES)] for data in SHARDS]
ENTRIES = tuple(
    ShardEntry(root_digest(chunk_digests(pieces)), len(data)) for pieces, data in zip(PIECES, SHARDS, strict=True)
)


def store_in(folder, *, entries=ENTRIES, **changes):
    budget = changes.pop("budget", lambda: 10**9)
    return DiskShardStore(folder / "shards", Catalogue(bytes(32), {0: entries}), budget=budget, **changes)


def begin(store, number):
    sink = store.sink(ENTRIES[number].digest)
    here = sink.begin(ENTRIES[number].digest, ENTRIES[number].size_bytes, chunk_digests(PIECES[number]))
    return sink, here


def test_broken_transfer_goes_on_after_a_restart(tmp_path):
    sink, here = begin(store_in(tmp_path), 0)
    assert here == set()
    sink.write(1, memoryview(PIECES[0][1]))
    sink.close()  # as the end of a process does
    store = store_in(tmp_path)
    assert list(store.held()) == []
    sink, here = begin(store, 0)
    assert here == {1}
    for place in (0, 2):
        sink.write(place, memoryview(PIECES[0][place]))
    sink.finish()
    assert list(store_in(tmp_path).held()) == [ENTRIES[0].digest]
    file = store.file(ENTRIES[0].digest)
    assert [file.read(place) for place in range(3)] == PIECES[0]


def test_download_that_failed_keeps_no_file_open(tmp_path):
    store, donor, entry = store_in(tmp_path), PeerId(bytes(32)), ENTRIES[0]
    fetch = FileFetch[int](sink=store.sink(entry.digest), trace=Trace(), words=SHARD_FILES)
    fetch.fetch(0, entry.digest, [donor], 0.0, size=entry.size_bytes)
    offer = ShardOffer(entry.digest, entry.size_bytes, list(chunk_digests(PIECES[0])))
    fetch.handle(Received(donor, offer), 0.0)
    part = tmp_path / "shards" / "incoming" / f"{entry.digest.hex()}.part"
    assert [Path(file.path) for file in psutil.Process().open_files()].count(part) == 1
    ended = fetch.handle(Received(donor, ShardDenied(entry.digest, 0.0)), 1.0)
    assert isinstance(ended[-1], FetchFailed)
    del fetch  # as `ShardDownloads` forgets it
    assert part not in [Path(file.path) for file in psutil.Process().open_files()]


def test_parts_of_shards_that_come_not_now_are_spare(tmp_path):
    store = store_in(tmp_path)
    for number in range(len(SHARDS)):
        store.expect(ENTRIES[number].digest)
        sink, _ = begin(store, number)
        sink.write(0, memoryview(PIECES[number][0]))
        sink.close()
        os.utime(part(tmp_path, number), (number, number))
    assert store.spare_bytes == 0
    store.give_up(ENTRIES[1].digest)
    assert store.spare_bytes == on_disk(len(SHARDS[1]))
    assert store.drop_spare() == on_disk(len(SHARDS[1]))
    assert store.drop_spare() == 0
    assert [part(tmp_path, number).exists() for number in range(3)] == [True, False, True]
    store = store_in(tmp_path)
    store.held()
    store.expect(ENTRIES[0].digest)
    store.drop_spare()
    assert [part(tmp_path, number).exists() for number in range(4)] == [True, False, False, True]
    sink, here = begin(store, 0)
    assert here == {0}
    sink.close()


def test_shards_of_other_collaborations_stay_until_room_is_needed(tmp_path):
    (tmp_path / "file").write_bytes(SHARDS[0])
    first = store_in(tmp_path, entries=ENTRIES[:3])
    for number in range(3):
        (tmp_path / "file").write_bytes(SHARDS[number])
        assert first.copy_in(ENTRIES[number], tmp_path / "file")
        os.utime(first.path(ENTRIES[number].digest), (number, number))
    room = first.room_bytes(ENTRIES[0].digest)
    second = store_in(tmp_path, entries=ENTRIES[2:])  # of which one is the same
    assert list(second.held()) == [ENTRIES[2].digest]
    assert second.spare_bytes == 2 * room
    assert second.drop_spare() == room
    again = store_in(tmp_path, entries=ENTRIES[:3])
    assert set(again.held()) == {ENTRIES[1].digest, ENTRIES[2].digest}
    assert again.spare_bytes == 0
    assert is_shard(again.path(ENTRIES[1].digest), ENTRIES[1].digest)


@counts_blocks
def test_shelf_keeps_all_collaborations_within_one_room(tmp_path):
    first = store_in(tmp_path, entries=ENTRIES[:3])
    for number in range(3):
        (tmp_path / "file").write_bytes(SHARDS[number])
        assert first.copy_in(ENTRIES[number], tmp_path / "file")
    sink, _ = begin(first, 6)
    sink.close()  # what a run before has left
    room = first.room_bytes(ENTRIES[0].digest)
    store = store_in(tmp_path, entries=ENTRIES[3:6], budget=lambda: 4 * room)
    shelf = ShardShelf(store, book=HolderBook({0: 3}), random=Random(0))
    for number in range(3):
        assert shelf.is_worth(ShardName(0, number))
        assert shelf.reserve(ShardName(0, number), is_wanted=lambda _: True)
        (tmp_path / "file").write_bytes(SHARDS[3 + number])
        assert store.copy_in(ENTRIES[3 + number], tmp_path / "file")
        shelf.add(ShardName(0, number))
        on_the_disk = [path for path in (tmp_path / "shards").rglob("*") if path.is_file()]
        assert sum(map(taken_bytes, on_the_disk)) <= shelf.used_bytes <= 4 * room
    assert len(shelf.held) == 3
    assert store.spare_bytes == on_disk(len(SHARDS[6]))  # the newest of what others left


def test_catalogue_with_a_false_size_deletes_no_shard(tmp_path):
    (tmp_path / "file").write_bytes(SHARDS[0])
    honest = store_in(tmp_path)
    assert honest.copy_in(ENTRIES[0], tmp_path / "file")
    liar = store_in(tmp_path, entries=(ShardEntry(ENTRIES[0].digest, len(SHARDS[0]) - 1),))
    assert list(liar.held()) == []
    assert liar.spare_bytes == honest.room_bytes(ENTRIES[0].digest)
    assert list(store_in(tmp_path).held()) == [ENTRIES[0].digest]


def test_empty_part_is_not_the_oldest_that_could_go(tmp_path):
    store = store_in(tmp_path)
    for number in range(2):
        sink, _ = begin(store, number)
        sink.close()
        os.utime(part(tmp_path, number), (number, number))
    part(tmp_path, 0).write_bytes(b"")  # as a kill leaves it
    os.utime(part(tmp_path, 0), (0, 0))
    store.held()
    assert not part(tmp_path, 0).exists()
    assert store.drop_spare() == on_disk(len(SHARDS[1]))


def part(folder, number):
    return folder / "shards" / "incoming" / f"{ENTRIES[number].digest.hex()}.part"


def test_evicted_shard_is_gone(tmp_path):
    store = store_in(tmp_path)
    (tmp_path / "file").write_bytes(SHARDS[0])
    assert store.copy_in(ENTRIES[0], tmp_path / "file")
    assert store.evict(ENTRIES[0].digest)
    assert store.file(ENTRIES[0].digest) is None
    assert not store.path(ENTRIES[0].digest).exists()


def test_whatever_else_lies_in_the_folder_stays(tmp_path):
    folder = tmp_path / "shards"
    folder.mkdir()
    for name in ("00001.jsonl", "index.potluck", ".cut.json"):
        (folder / name).write_bytes(SHARDS[1])
    (folder / ("0" * 64)).write_bytes(b"of another collaboration")
    store = store_in(tmp_path, seeds=seeds_in(folder, {"00001.jsonl": ENTRIES[1]}))
    assert list(store.held()) == [ENTRIES[1].digest]
    assert {path.name for path in folder.iterdir()} == {"00001.jsonl", "index.potluck", ".cut.json"}


def test_seeds_are_given_and_stay(tmp_path):
    (tmp_path / "00001.jsonl").write_bytes(SHARDS[1])
    seeds = seeds_in(tmp_path, {"00000.jsonl": ENTRIES[0], "00001.jsonl": ENTRIES[1]})
    store = store_in(tmp_path, seeds=seeds)
    assert list(store.held()) == [ENTRIES[1].digest]
    assert store.file(ENTRIES[1].digest).read(2) == PIECES[1][2]
    assert not store.evict(ENTRIES[1].digest)
    (tmp_path / "00000.jsonl").write_bytes(SHARDS[1])
    with pytest.raises(Damaged, match="is not the shard of the index"):
        seeds_in(tmp_path, {"00000.jsonl": ENTRIES[0]})
