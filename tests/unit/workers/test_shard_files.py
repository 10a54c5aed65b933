"""Shards on the disk: put together, resumed, found again, and only so many that are partly here."""

from pathlib import Path
from random import Random

import psutil
import pytest

from core.base.content import CHUNK_BYTES, chunk_digests, root_digest
from core.base.ids import PeerId
from core.base.machine import Received
from core.base.problems import Damaged
from core.base.trace import Trace
from core.swarm.fetch import FetchFailed, FileFetch
from core.swarm.messages import SHARD_FILES, ShardDenied, ShardOffer
from core.swarm.shards.names import Catalogue, ShardEntry
from core.workers.shard_files import PARTS_MAX, DiskShardStore, seeds_in

SHARDS = [Random(number).randbytes(2 * CHUNK_BYTES + 100) for number in range(PARTS_MAX + 3)]
PIECES = [[data[at : at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES)] for data in SHARDS]
ENTRIES = tuple(
    ShardEntry(root_digest(chunk_digests(pieces)), len(data)) for pieces, data in zip(PIECES, SHARDS, strict=True)
)


def store_in(folder, **changes):
    return DiskShardStore(folder / "shards", Catalogue(bytes(32), {0: ENTRIES}), budget=lambda: 10**9, **changes)


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


def test_several_come_at_a_time_and_few_stay_unfinished(tmp_path):
    store = store_in(tmp_path)
    for number in range(len(SHARDS)):
        sink, _ = begin(store, number)
        sink.write(0, memoryview(PIECES[number][0]))
        sink.close()
    assert len(list((tmp_path / "shards" / "incoming").iterdir())) == PARTS_MAX


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
