"""Files of experts: what was fetched is kept, however soon the next one comes."""

import asyncio
import os
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from threading import Event, Thread

import pytest

from core.base.content import chunk_digests, root_digest
from core.kept.state_files import DiskStateSink
from core.swarm.experts.copy_news import CopyHere
from core.swarm.experts.keeping import CopyDropped, CopyFetched
from core.workers.expert_files import expert_file, version_of
from core.workers.expert_shelf import ExpertShelf


def shelf_in(folder: Path, deliver: Callable[[CopyHere], None] = lambda _: None, ahead_s: float = 0.0) -> ExpertShelf:
    return ExpertShelf(folder, deliver, ahead_s=lambda: ahead_s)


def fetched(sink: DiskStateSink, data: bytes, place: int) -> CopyFetched:
    """What a download reports."""
    chunks = chunk_digests([data])
    assert sink.begin(root_digest(chunks), len(data), chunks) == set()
    sink.write(0, memoryview(data))
    return CopyFetched((0, (place, 0)), 7, sink.finish())


def test_copy_outlives_the_next_download(tmp_path: Path) -> None:
    """The next one begins as soon as one has ended, and clears the folder of what is half there."""
    sink, told = DiskStateSink(tmp_path / "incoming"), list[CopyHere]()

    async def run() -> None:
        shelf = shelf_in(tmp_path, told.append)
        for place in range(3):
            assert shelf.take(fetched(sink, bytes([place]) * 100, place))
        keeping = asyncio.create_task(shelf.keep())
        while len(told) < 3:
            await asyncio.sleep(0.01)
            assert not keeping.done()
        keeping.cancel()

    asyncio.run(asyncio.wait_for(run(), 20))
    assert [copy.expert for copy in told] == [(0, (place, 0)) for place in range(3)]
    assert len(list(tmp_path.glob("expert-*"))) == 3


@pytest.mark.parametrize("ahead_s", [3600.0, -3600.0])
def test_age_of_a_copy_is_by_the_collaborations_time(tmp_path: Path, ahead_s: float) -> None:
    """A computer whose clock is wrong writes its files by that clock."""
    told, now = list[CopyHere](), int(time.time())  # noqa: TID251 - by which files are written
    shelf = shelf_in(tmp_path, told.append, ahead_s)
    assert shelf.take(fetched(DiskStateSink(tmp_path / "incoming"), b"state", 0))
    (path,) = tmp_path.glob("expert-*")
    os.utime(path, (now + ahead_s, now + ahead_s))

    async def run() -> None:
        keeping = asyncio.create_task(shelf.keep())
        while not told:
            await asyncio.sleep(0.01)
            assert not keeping.done()
        keeping.cancel()

    asyncio.run(asyncio.wait_for(run(), 20))
    assert [copy.saved for copy in told] == [now]
    assert shelf.saved() == {(0, (0, 0)): now}


def test_copy_with_a_flipped_bit_is_not_given(tmp_path: Path) -> None:
    """Others would take it for what the expert was, under a digest of its own."""
    told = list[CopyHere]()

    async def run() -> None:
        shelf = shelf_in(tmp_path, told.append)
        root = root_digest(chunk_digests([b"whole"]))
        for place, data in enumerate((b"whose", b"whole")):
            path = expert_file(tmp_path, (0, (place, 0)), version=3, root=root)
            path.write_bytes(data)
            shelf.put((0, (place, 0)), 3, path)
        keeping = asyncio.create_task(shelf.keep())
        while not told:
            await asyncio.sleep(0.01)
            assert not keeping.done()
        keeping.cancel()

    asyncio.run(asyncio.wait_for(run(), 20))
    assert [copy.expert for copy in told] == [(0, (1, 0))]


def test_files_that_the_worker_drops_meanwhile_end_nothing(tmp_path: Path) -> None:
    shelf, ended = shelf_in(tmp_path), Event()

    def worker() -> None:
        for version in count():
            for place in range(8):
                expert_file(tmp_path, (0, (place, 0)), version=version, root=bytes(32)).touch()
                expert_file(tmp_path, (0, (place, 0)), version=version - 1, root=bytes(32)).unlink(missing_ok=True)
            if ended.is_set():
                return

    saves = Thread(target=worker)
    saves.start()
    try:
        for _ in range(300):
            for expert in shelf.saved():
                shelf.newest(expert)
    finally:
        ended.set()
        saves.join()
    assert len(shelf.saved()) == 8


def test_fetched_copy_is_the_newest_after_the_clock_was_ahead(tmp_path: Path) -> None:
    """Two states are of a day that has not come yet; a third one is fetched, and is found at the next start."""
    sink, shelf = DiskStateSink(tmp_path / "incoming"), shelf_in(tmp_path)
    for ahead in (1, 2):
        path = expert_file(tmp_path, (0, (1, 0)), version=90 + ahead, root=bytes(32))
        path.touch()
        os.utime(path, (path.stat().st_mtime + ahead * 10**7,) * 2)
    assert shelf.take(fetched(sink, b"state", 1))
    assert version_of(Path(shelf.newest((0, (1, 0))))) == 7
    assert len(list(tmp_path.glob("expert-*"))) == 2


def test_copy_that_somebody_reads_is_dropped_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, **_: object) -> None:
        raise PermissionError(13, "Access is denied", str(path))

    expert_file(tmp_path, (0, (1, 0)), version=1, root=bytes(32)).touch()
    monkeypatch.setattr(Path, "unlink", refuse)
    assert shelf_in(tmp_path).take(CopyDropped((0, (1, 0))))
