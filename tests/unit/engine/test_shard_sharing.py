"""The reader's questions about shards: what lies here, what comes in time, and what is the origin's."""

import asyncio
from pathlib import Path
from random import Random

import pytest

from core.base.content import CHUNK_BYTES, chunk_digests, root_digest
from core.base.data_desk import KeptAsk, NextAnswer, NextAsk
from core.base.ids import PeerId
from core.base.machine import Trace
from core.engine.text.shard_sharing import SharedShards
from core.kept.shard_files import DiskShardStore
from core.swarm.catching_up.donor import PastMembers
from core.swarm.shards.exchange import ShardExchange
from core.swarm.shards.names import Catalogue, OwnRounds, ShardEntry, ShardHere, ShardLied, ShardName

SHARDS = [Random(number).randbytes(CHUNK_BYTES + 10 * number) for number in range(4)]
ENTRIES = tuple(
    ShardEntry(root_digest(chunk_digests([data[:CHUNK_BYTES], data[CHUNK_BYTES:]])), len(data)) for data in SHARDS[1:]
)


class Nobody:
    """A DHT without anybody else."""

    def get(self, key, now):
        return []

    def store(self, key, value, *, lifetime_s, now, subkey=None):
        return []


class Engine:
    def __init__(self, folder, room=10):
        self.folder = folder
        self.store = DiskShardStore(
            folder / "shards", Catalogue(bytes(32), {1: ENTRIES}), budget=lambda: room * 2 * CHUNK_BYTES
        )
        self.exchange = ShardExchange(
            PeerId(bytes(32)),
            store=self.store,
            directory=Nobody(),
            random=Random(0),
            trace=Trace(),
            rounds=OwnRounds(lambda: False, PastMembers()),
        )
        self.shared = SharedShards(self.exchange, self.store, deliver=lambda event: self.exchange.handle(event, 0.0))

    def file(self, number, data=None):
        path = self.folder / f"fetched-{number}"
        path.write_bytes(SHARDS[1 + number] if data is None else data)
        return str(path)

    def next(self, *wanted, source=1, wait_s=0.0):
        return asyncio.run(self.shared.next(NextAsk(source, wanted, wait_s)))

    def keep(self, number, path, source=1):
        return asyncio.run(self.shared.keep(KeptAsk(source, number, path)))


def test_kept_shard_is_given_as_a_file_from_then_on(tmp_path):
    engine = Engine(tmp_path)
    assert engine.next(2) == NextAnswer(2)
    assert engine.keep(2, engine.file(2))
    answer = engine.next(0, 2)
    assert answer.shard == 2
    assert Path(answer.path).read_bytes() == SHARDS[3]
    assert Engine(tmp_path).next(0, 2) == answer  # also after another start


def test_only_whole_shards_are_told_as_kept(tmp_path):
    engine = Engine(tmp_path)
    coming = engine.exchange.shelf.catalogue.first(1, 0)
    assert engine.exchange.shelf.reserve(coming, is_wanted=lambda _: False)
    assert engine.shared.tally.stored_bytes == 0
    assert engine.keep(2, engine.file(2))
    assert engine.shared.tally.stored_bytes == len(SHARDS[3])


def test_file_that_is_not_the_shard_is_not_kept(tmp_path):
    engine = Engine(tmp_path)
    spoilt = bytearray(SHARDS[1])
    spoilt[7] ^= 1
    assert not engine.keep(0, engine.file(0, bytes(spoilt)))
    assert not engine.keep(0, engine.file(1))
    assert not engine.keep(0, str(tmp_path / "nothing"))
    assert not engine.keep(0, str(tmp_path))
    assert not engine.keep(99, engine.file(0))
    assert not engine.keep(0, engine.file(0), source=0)
    assert engine.next(0) == NextAnswer(0)
    assert not any((tmp_path / "shards").glob("*"))
    assert engine.keep(0, engine.file(0))


def test_shards_of_a_source_without_list_are_the_origins(tmp_path):
    engine = Engine(tmp_path)
    assert engine.next(3, 1, source=0) == NextAnswer(3)
    assert engine.next(1, 77) == NextAnswer(1)


def test_damaged_or_foreign_files_are_not_given_away(tmp_path):
    engine = Engine(tmp_path)
    assert engine.keep(1, engine.file(1))
    assert engine.keep(2, engine.file(2))
    path = engine.store.path(ENTRIES[1].digest)
    path.write_bytes(b"")  # torn by a power cut
    (tmp_path / "shards" / ("0" * 64)).write_bytes(b"of another collaboration")
    again = Engine(tmp_path)
    assert [name.number for name in again.exchange.shelf.held] == [2]
    assert {one.name.partition(".")[0] for one in (tmp_path / "shards").iterdir()} == {ENTRIES[2].digest.hex()}
    flipped = bytearray(SHARDS[3])
    flipped[3] ^= 1
    again.store.path(ENTRIES[2].digest).write_bytes(flipped)
    file = again.store.file(ENTRIES[2].digest)
    with pytest.raises(Exception, match="not what was written"):
        file.read(0)


def test_reader_is_given_no_damaged_shard(tmp_path):
    engine = Engine(tmp_path)
    assert engine.keep(1, engine.file(1))
    assert engine.keep(2, engine.file(2))
    path = engine.store.path(ENTRIES[2].digest)
    flipped = bytearray(SHARDS[3])
    flipped[3] ^= 1
    path.write_bytes(flipped)
    answer = engine.next(2, 1)
    assert (answer.shard, answer.path) == (1, str(engine.store.path(ENTRIES[1].digest)))
    assert not path.exists()
    assert engine.next(2) == NextAnswer(2)  # from the origin
    assert engine.keep(2, engine.file(2))
    Path(engine.next(2).path).unlink()
    assert engine.next(2) == NextAnswer(2)


def test_shard_that_comes_in_time_is_waited_for(tmp_path):
    engine = Engine(tmp_path)

    async def run():
        engine.exchange.comes = lambda source: True  # type: ignore[method-assign]
        asked = asyncio.create_task(engine.shared.next(NextAsk(1, (0, 1), 5.0)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not asked.done()
        assert engine.store.copy_in(ENTRIES[1], tmp_path / "fetched-1")
        engine.exchange.shelf.add(ShardName(1, 1))
        assert engine.shared.take(ShardHere(ShardName(1, 1)))
        return await asked

    engine.file(1)
    assert asyncio.run(run()).shard == 1
    assert engine.shared.take(ShardLied(ShardName(1, 1), bytes(32)))
    assert not engine.shared.take("another event")
