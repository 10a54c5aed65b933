import gzip
import queue
import random
import secrets
import sys
from pathlib import Path

import psutil
import pyarrow as pa
import pytest
from pyarrow import parquet

from core.api.data_state import DataCode
from core.reading.__main__ import MEMORY_BYTES_MAX
from core.reading.frames import (
    BlockReady,
    Drop,
    FilesLeftOut,
    GoOn,
    Opened,
    ReadFailed,
    Remake,
    Rest,
    Stalled,
    Tally,
    Unreadable,
    Want,
)
from core.text.order.documents import is_held_out
from core.text.sources.texts import documents_in
from core.workers.child_end import NICENESS
from tests.blocks import counts_blocks, taken_bytes
from tests.reading import collaboration, reader, rows_of, text_of

pytestmark = pytest.mark.process


def words(seed: int, size: int) -> str:
    chance = random.Random(seed)
    paragraphs, written = [], 0
    while written < size:
        paragraphs.append(" ".join(f"word{number}" for number in chance.choices(range(1000), k=60)) + ".")
        written += len(paragraphs[-1])
    return "\n\n".join(paragraphs)


def learned(text: str) -> str:
    """What is read of a text that is one piece, as one string."""
    return "".join("\n".join([*d, ""]) for d in documents_in(text) if not is_held_out(d))


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    folder = tmp_path / "texts"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.txt").write_text(words(number, 40_000))
    return folder


def test_all_that_is_not_held_out_becomes_rows(tmp_path: Path, texts: Path) -> None:
    with reader(collaboration(tmp_path, str(texts))) as child:
        opened = next(frame for frame in child.heard if isinstance(frame, Opened))
        assert opened.shards == 1
        said = text_of(child.shard(0))
        tally = child.hear(Tally, lambda tally: tally.rows > 0)
    expected = "".join(learned((texts / f"{number}.txt").read_text()) for number in range(3))
    assert len(expected) - 32 <= len(said) <= len(expected) + 32
    assert said[:100_000] == expected[:100_000]
    assert tally.bytes_read == sum(path.stat().st_size for path in texts.iterdir())
    assert tally.network_bytes == 0


def test_a_block_grows_and_every_reader_makes_the_same_rows(tmp_path: Path, texts: Path) -> None:
    with reader(collaboration(tmp_path, str(texts))) as child:
        rows = child.shard(0)
        grown = [frame for frame in child.heard if isinstance(frame, BlockReady)]
    assert [block.rows for block in grown[:3]] == [512, 1024, 2048]
    assert rows_of(grown[0]) == rows[:512]
    assert [block.whole for block in grown] == [False] * (len(grown) - 1) + [True]
    with reader(collaboration(tmp_path / "other", str(texts))) as child:
        assert child.shard(0) == rows


def test_it_steps_back_and_ends_with_its_parent(tmp_path: Path, texts: Path) -> None:
    with reader(collaboration(tmp_path, str(texts))) as child:
        assert psutil.Process(child.process.pid).nice() >= NICENESS
        child.process.stdin.close()
        assert child.process.wait(20) == 0


def test_any_block_of_a_compressed_file_can_be_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.txt.gz").write_bytes(gzip.compress(words(7, 9_000_000).encode(), 1))
    begin = collaboration(tmp_path, str(folder))
    blocks: list[BlockReady] = []
    with reader(begin) as child:
        while not blocks or not blocks[-1].last:
            blocks.append(child.block(0, blocks[-1].first + blocks[-1].rows if blocks else 0))
        rows = [rows_of(block) for block in blocks]
    assert len(blocks) == 3
    assert [block.first for block in blocks] == [0, len(rows[0]), len(rows[0]) + len(rows[1])]
    Path(blocks[0].path).write_bytes(Path(blocks[0].path).read_bytes()[:-70])  # torn by a crash
    damaged = bytearray(Path(blocks[1].path).read_bytes())
    damaged[5000] ^= 1
    Path(blocks[1].path).write_bytes(damaged)
    kept = Path(blocks[2].path).stat().st_mtime_ns
    with reader(begin) as child:
        for number in (2, 1, 0):
            child.say(Remake(source=0, shard=0, first=blocks[number].first))
            again = child.hear(BlockReady, lambda block: block.whole)
            assert (again.first, again.rows, again.last) == (blocks[number].first, blocks[number].rows, number == 2)
            assert rows_of(again) == rows[number]
    assert Path(blocks[2].path).stat().st_mtime_ns == kept
    for path in (tmp_path / "blocks").glob("*/*"):
        path.unlink()
    with reader(begin) as child:  # nothing is known of where blocks begin
        assert rows_of(child.block(0, blocks[1].first)) == rows[1]
        within = child.block(0, blocks[2].first + 5)
        assert (within.first, rows_of(within)) == (blocks[2].first, rows[2])


@counts_blocks
def test_the_disk_is_kept_within_its_limit(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    for number in range(5):
        (folder / f"{number}.txt").write_text(words(number, 3_000_000))
    begin = collaboration(tmp_path, str(folder), disk_bytes=20_000_000)
    with reader(begin) as child:
        for shard in range(5):
            block = child.block(shard)
            assert sum(map(taken_bytes, (tmp_path / "blocks").glob("*/*"))) <= 20_000_000
            child.say(Drop(source=0, shard=shard, first=block.first))
        assert child.hear(Tally, lambda tally: tally.rows > 0).stored_bytes <= 20_000_000
        assert {path.name for path in (tmp_path / "blocks").glob("*/*")} == {f"{shard}.0.0.npy" for shard in (0, 1, 4)}


def test_nothing_is_computed_while_it_rests(tmp_path: Path, texts: Path) -> None:
    with reader(collaboration(tmp_path, str(texts))) as child:
        child.say(Rest())
        child.say(Want(source=0, shards=((0, 0),)))
        with pytest.raises(queue.Empty):
            child.hear(BlockReady, timeout_s=2)
        child.say(GoOn())
        assert child.hear(BlockReady, lambda block: block.whole).rows


def test_a_folder_that_comes_back_flows_again(tmp_path: Path, texts: Path) -> None:
    begin = collaboration(tmp_path, str(texts))
    texts.rename(tmp_path / "away")
    with reader(begin, opened=False) as child:
        stalled = child.hear(Stalled)
        assert stalled.code == DataCode.MISSING
        assert 1 <= stalled.retry_s <= 60
        assert stalled.arguments["name"] == str(texts)
        (tmp_path / "away").rename(texts)
        child.hear(Opened)
        assert child.shard(0)


def test_files_without_text_and_vanished_ones_are_told(tmp_path: Path, texts: Path) -> None:
    (texts / "picture.bin").write_bytes(b"\x00\x01")
    (texts / "broken.txt.gz").write_bytes(gzip.compress(words(1, 100_000).encode())[:-100])
    with reader(collaboration(tmp_path, str(texts))) as child:
        (texts / "1.txt").unlink()
        assert child.shard(0)
        told = [(frame.name, frame.code, frame.files) for frame in child.heard if isinstance(frame, FilesLeftOut)]
    assert told == [
        ("picture.bin", DataCode.NO_TEXT, 1),
        ("1.txt", DataCode.MISSING, 2),
        ("the rest of broken.txt.gz", DataCode.DAMAGED, 3),
    ]


def test_a_shard_that_breaks_off_gives_what_came_before(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.txt.gz").write_bytes(gzip.compress(words(1, 5_000_000).encode(), 1)[:-1000])
    with reader(collaboration(tmp_path, str(folder))) as child:
        assert child.block(0).rows
        child.say(Want(source=0, shards=((0, child.heard[-1].rows),)))
        lost = child.hear(FilesLeftOut)
        assert (lost.name, lost.code) == ("the rest of a.txt.gz", DataCode.DAMAGED)
        assert child.hear(BlockReady, lambda block: block.whole).last


def test_a_folder_that_nobody_named_ends_the_reader(tmp_path: Path, texts: Path) -> None:
    with reader(collaboration(tmp_path, str(texts), folder=str(tmp_path / "else")), opened=False) as child:
        failed = child.hear(ReadFailed)
        assert "not a folder that you have named" in str(failed.message)


def test_the_first_rows_come_within_two_seconds(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    with (folder / "huge.txt").open("wb") as file:
        file.write(words(1, 1_000_000).encode())
        file.truncate(10 * 1024**3)
    with reader(collaboration(tmp_path, str(folder))) as child:
        child.say(Want(source=0, shards=((0, 0),)))
        child.hear(BlockReady)
        used = psutil.Process(child.process.pid).cpu_times()  # other tests run beside this one
        assert used.user + used.system < 2
        assert psutil.Process(child.process.pid).memory_info().rss < 300_000_000


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such limit")
def test_a_file_larger_than_memory_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    cell = pa.array([secrets.token_hex(15_000_000)])
    table = pa.Table.from_arrays([cell.take(pa.array([0] * 40))], names=["text"])
    parquet.write_table(table, folder / "bomb.parquet", compression="none")
    del cell, table
    assert (folder / "bomb.parquet").stat().st_size < 40_000_000
    with reader(collaboration(tmp_path, str(folder))) as child:
        process = psutil.Process(child.process.pid)
        assert process.rlimit(psutil.RLIMIT_DATA)[0] == MEMORY_BYTES_MAX
        process.rlimit(psutil.RLIMIT_DATA, (900_000_000, MEMORY_BYTES_MAX))  # as if the computer were small
        child.say(Want(source=0, shards=((0, 0),)))
        lost = child.hear(Unreadable)
        assert (lost.code, lost.arguments) == (DataCode.TOO_LARGE, {"name": "bomb.parquet"})
