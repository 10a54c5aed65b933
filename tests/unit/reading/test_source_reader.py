import errno
import queue
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.api.data_state import DataCode
from core.reading.block_file import Shape
from core.reading.block_store import BlockStore
from core.reading.copies import AtOrigin, SharedCopies
from core.reading.desk import Desk
from core.reading.frames import Opened, Stalled, Unreadable
from core.reading.news import SourceNews
from core.reading.room import DiskRoom
from core.reading.rows import Counts, RowMaker
from core.reading.source_reader import LINES_MAX, Faults, SourceReader
from core.reading.wishes import Wish
from core.system.child_process import LOG_BYTES_MAX
from core.text.order.filters import read_filters
from core.text.sources.source import Listing, Piece, Shard, ShardUnreadable, SourceStalled

STALLED = 2


class Odd:
    """A source in which a library stumbles over what a stranger has sent."""

    def __init__(self, listed: int, *, network: bool = False) -> None:
        self._listed = listed
        self.trouble: Exception = KeyError("two columns of one name")
        self.network = network

    def listing(self) -> Listing:
        if not self._listed:
            raise IndexError("a card of the hub")
        return Listing(tuple(Shard(f"{number}.parquet", 1) for number in range(self._listed)), b"digest")

    def read(self, shard: int, block: int = 0, *, copy: Path | None = None) -> Iterator[Piece]:
        del block, copy
        if shard == STALLED:
            raise SourceStalled(DataCode.NO_ANSWER, host="texts.org")
        raise self.trouble


@pytest.fixture
def heard() -> "queue.Queue[Any]":
    return queue.Queue()


def reader_of(source: Odd, folder: Path, heard: "queue.Queue[Any]") -> SourceReader:
    rows = RowMaker(b"c", 0, None, read_filters({}), Counts(), threading.Lock())  # type: ignore[arg-type]
    store = BlockStore(folder, Shape(4, wide=False), b"c" * 32, DiskRoom(1 << 20, folder))
    return SourceReader(source, rows, store, SourceNews(0, heard.put), lambda: None, AtOrigin())


def test_what_a_library_stumbles_over_is_a_damaged_shard(tmp_path: Path, heard: "queue.Queue[Any]") -> None:
    reader = reader_of(Odd(2), tmp_path, heard)
    reader.start()
    assert isinstance(heard.get(timeout=60), Opened)
    for shard in (1, 0):
        reader.wishes.want([(shard, 0)])
        lost = heard.get(timeout=60)
        assert isinstance(lost, Unreadable)
        assert (lost.shard, lost.code) == (shard, DataCode.DAMAGED)


def test_damaged_shard_has_one_short_line_however_often_it_fails(capsys: pytest.CaptureFixture[str]) -> None:
    """A stranger's letters fill no log, and write no lines that look like ours."""
    faults = Faults()
    for shard in [*range(LINES_MAX + 10), 0, 1]:
        with pytest.raises(ShardUnreadable, match="damaged"), faults.of(shard, "a\nname" + "\U0001f600" * 9000):
            raise KeyError("two columns\n" + "\U0001f600" * 9000)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == LINES_MAX
    assert sum(map(len, lines)) < LOG_BYTES_MAX
    assert "KeyError: 'two columns" in lines[0]
    assert f"{Path(__file__).name}:" in lines[0]


def test_exception_that_cannot_be_printed_is_a_damaged_shard(capsys: pytest.CaptureFixture[str]) -> None:
    class Odder(Exception):
        def __str__(self) -> str:
            raise ValueError("odder still")

    with pytest.raises(ShardUnreadable), Faults().of(0, "0.parquet"):
        raise Odder
    assert "'0.parquet'" in capsys.readouterr().err


def test_a_librarys_own_os_error_is_no_full_disk(tmp_path: Path, heard: "queue.Queue[Any]") -> None:
    source = Odd(1)
    source.trouble = OSError(errno.ENOSPC, "a library's words for a broken file")
    reader = reader_of(source, tmp_path, heard)
    reader.start()
    assert isinstance(heard.get(timeout=60), Opened)
    reader.wishes.want([(0, 0)])
    lost = heard.get(timeout=60)
    assert isinstance(lost, Unreadable)
    assert lost.code == DataCode.DAMAGED


def test_a_folder_that_cannot_be_written_is_a_state(tmp_path: Path, heard: "queue.Queue[Any]") -> None:
    (tmp_path / "blocks").write_bytes(b"a file where a folder should be")
    reader_of(Odd(1), tmp_path / "blocks", heard).start()
    stalled = heard.get(timeout=60)
    assert isinstance(stalled, Stalled)
    assert stalled.code == DataCode.UNWRITABLE


def test_a_list_that_cannot_be_parsed_is_asked_again(tmp_path: Path, heard: "queue.Queue[Any]") -> None:
    reader_of(Odd(0), tmp_path, heard).start()
    stalled = heard.get(timeout=60)
    assert isinstance(stalled, Stalled)
    assert stalled.code == DataCode.DAMAGED
    assert stalled.retry_s > 0


def test_a_block_of_before_holds_up_no_other(tmp_path: Path, heard: "queue.Queue[Any]") -> None:
    reader = reader_of(Odd(3), tmp_path, heard)
    reader.wishes.again(Wish(STALLED, 0))
    reader.wishes.want([(1, 0)])
    reader.start()
    assert isinstance(heard.get(timeout=60), Opened)
    lost = heard.get(timeout=60)
    assert isinstance(lost, Unreadable)
    assert lost.shard == 1


def test_a_server_that_has_nothing_is_asked_with_rests(tmp_path: Path, heard: "queue.Queue[Any]") -> None:
    reader = reader_of(Odd(3, network=True), tmp_path, heard)
    reader.wishes.want([(0, 0)])
    reader.start()
    assert isinstance(heard.get(timeout=60), Opened)
    assert heard.get(timeout=60).shard == 0
    reader.wishes.want([(1, 0)])
    with pytest.raises(queue.Empty):
        heard.get(timeout=0.5)
    assert heard.get(timeout=60).shard == 1


def test_what_is_left_of_a_shard_that_is_read_goes(tmp_path: Path) -> None:
    for name in ("0-3.part", "0-3.shard", "0-4.part"):
        (tmp_path / name).write_bytes(b"bytes")
    SharedCopies(0, None, Desk(), tmp_path, DiskRoom(1 << 20, tmp_path)).done(3)  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["0-4.part"]
