"""Samples of a collaboration's text: the walk says which rows are next, and a reader, a child process, makes them."""

# ruff: noqa: N806 - names of arrays end in their shapes

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.base.data_source import SOURCES_MAX
from core.base.manifest import Manifest
from core.base.problems import BadInput, Damaged, NoSpace, NotTrusted, Problem, WorkerProblem
from core.reading.client import ReaderClient
from core.reading.frames import (
    BeginReading,
    BlockReady,
    Drop,
    FilesLeftOut,
    Flowing,
    Opened,
    ReadFailed,
    Remake,
    Stalled,
    Tally,
    ToTrainer,
    Unreadable,
    Want,
)
from core.tasks.task import Task
from core.text.order.bookmark import Bookmark
from core.text.order.chance import pass_key_of, sample_seeds
from core.text.order.data_pass import DrawnRow
from core.text.order.shard_order import BlockPlace
from core.text.order.source_walk import BlockUnneeded, BlockWanted, Stall
from core.text.order.walk import Walk
from core.training.programs.child import given_secrets
from core.training.samples.block_files import BlockFiles
from core.training.samples.data_news import DataTeller, Tell
from core.training.samples.samples import Drawn, Rows
from core.workers.frames import Start

PATIENCE_S: Final = 0.2
"""How long a device's thread waits for rows before it looks whether it is wanted still."""
DISK_BYTES: Final = 4 * 10**9
"""What blocks take of the disk at most, where nobody says."""
AGAIN_S: Final = 60.0
"""Time after which a source of which nothing could be read is tried again."""
_PROBLEMS: Final = {kind.code: kind for kind in (BadInput, Damaged, NoSpace, NotTrusted)}


class StreamedSamples:
    """See `core.training.samples.samples.Samples`.

    Args:
        manifest: Names the sources.
        seed: This peer's order.
        begin: For the reader, which starts at once.
        tell: Told how the text comes.
        steady: Whether the order follows from the seed alone (`core.text.order.walk.Walk`).
        command: The reader's program; None: this program's own.
    """

    def __init__(
        self,
        manifest: Manifest,
        seed: int,
        *,
        begin: BeginReading,
        tell: Tell = lambda _: None,
        steady: bool = False,
        command: Sequence[str] | None = None,
    ) -> None:
        self._steady = steady
        self._task: Task | None = None
        self._manifest = manifest
        self._seed = seed
        self._changed = threading.Condition()
        self._early: list[ToTrainer] = []
        """What the reader said before `begin`."""
        self._walk: Walk | None = None
        self._blocks = BlockFiles()
        self._news = DataTeller(tell)
        self._problem: Problem | None = None
        self._barren = BarrenSources()
        self.reader = ReaderClient(begin, self._hear, self._fail, command=command)

    def begin(self, task: Task, bookmark: Bookmark | None) -> None:
        """Go on where a bookmark stands, or begin anew."""
        self._task = task
        shares = [source.share for source in self._manifest.sources]
        with self._changed:
            self._walk = Walk(self._manifest.chance, shares, self._seed, bookmark, steady=self._steady)
            for frame in self._early:
                take(frame, self._walk, self._blocks, self._news)
            self._early.clear()
            self._settle(self._walk)

    def of(self, size: Callable[[], int]) -> Iterator[Drawn[Any] | None]:
        """The batches of one device, each row in one of them."""
        assert self._task is not None, "begin was not called"
        while True:
            found = self._next(size)
            if found is None:
                yield None
                continue
            rows, rows_BR = found
            try:
                yield Drawn(self._task.batch(rows_BR, seeds_of(self._manifest.chance, rows)), rows)
            except GeneratorExit:  # nobody took it: the device is given up
                self.put_back(rows)
                raise

    def put_back(self, rows: Iterable[DrawnRow]) -> None:
        """The gradient of these rows was dropped."""
        with self._changed:
            walk = self._begun
            walk.put_back(rows)
            self._settle(walk)

    def use(self, rows: Iterable[DrawnRow]) -> None:
        """The contribution with these rows was absorbed."""
        with self._changed:
            walk = self._begun
            walk.use(rows)
            self._settle(walk)

    def resolve(self, *, averaged: bool) -> None:
        """It is known what became of rows that an earlier process had handed over."""
        with self._changed:
            walk = self._begun
            walk.resolve(averaged=averaged)
            self._settle(walk)

    def bookmark(self, out: Rows = ()) -> Bookmark:
        """Where the walk stands, for the state that is held now."""
        with self._changed:
            return self._begun.bookmark(out)

    def rest(self) -> None:
        """Read and compute nothing until `go_on`."""
        self.reader.rest()

    def go_on(self) -> None:
        """After `rest`: read and compute again."""
        self.reader.go_on()

    @property
    def _begun(self) -> Walk:
        assert self._walk is not None, "begin was not called"
        return self._walk

    def _next(self, size: Callable[[], int]) -> tuple[list[DrawnRow], NDArray[Any]] | None:
        """The next rows, with what they hold; None where there was none for a moment."""
        with self._changed:
            walk = self._begun
            if self._problem is not None:
                raise self._problem
            rows = walk.draw(size())
            self._settle(walk)
            if not rows:
                self._news.waits(walk)
                self._changed.wait(PATIENCE_S)
                return None
            found = self._blocks.read(rows)
            if isinstance(found, DrawnRow):
                walk.put_back(rows)
                walk.sources[found.source].missed(found.block.key)
                self._settle(walk)
                return None
            self._news.came(walk)
            return rows, found

    def _hear(self, frame: ToTrainer) -> None:
        with self._changed:
            if self._walk is None:
                self._early.append(frame)
                return
            take(frame, self._walk, self._blocks, self._news)
            self._settle(self._walk)

    def _settle(self, walk: Walk) -> None:
        """Say to the reader, to the engine and to those who wait what follows from what has changed."""
        self._barren.look(walk)
        for request in walk.requests():
            match request:
                case BlockWanted():
                    self.reader.say(Want(source=request.source, shards=request.shards))
                case BlockUnneeded():
                    self._blocks.drop(request.source, request.key)
                    self.reader.say(Drop(source=request.source, shard=request.key.shard, first=request.key.first))
                case _:
                    self.reader.say(Remake(source=request.source, shard=request.key.shard, first=request.key.first))
        if walk.is_empty and self._problem is None:
            self._problem = BadInput("There is too little text to learn from.", hint="Give more text.")
        for source in walk.sources:
            for code, arguments in source.notices:
                self._news.left_out(code, arguments)
            source.notices.clear()
        self._news.look(walk)
        self._changed.notify_all()

    def _fail(self, last: ReadFailed) -> None:
        with self._changed:
            self._problem = _PROBLEMS.get(last.code, WorkerProblem)(last.message, hint=last.hint)
            self._changed.notify_all()


def take(frame: ToTrainer, walk: Walk, blocks: BlockFiles, news: DataTeller) -> None:
    """Have all know what a reader says."""
    number = getattr(frame, "source", 0)
    if number >= min(len(walk.sources), SOURCES_MAX):
        return
    source = walk.sources[number]
    match frame:
        case Opened():
            source.opened(frame.shards, frame.name)
        case BlockReady():
            place = BlockPlace(frame.shard, frame.first)
            blocks.put(number, place, frame.path)
            source.said(place, frame.rows, whole=frame.whole, last=frame.last)
        case Unreadable():
            source.lost(frame.shard, frame.code, frame.arguments)
            news.left_out(frame.code, frame.arguments)
        case FilesLeftOut():
            news.left_out(frame.code, {"name": frame.name, "files": frame.files})
        case Stalled():
            source.stall = Stall(frame.code, frame.arguments, frame.retry_s)
        case Flowing():
            source.stall = None
        case Tally():
            news.tally = frame


class BarrenSources:
    """Sources of which nothing could be read in a whole pass: they are read again after a while."""

    def __init__(self) -> None:
        self._since: dict[int, float] = {}

    def look(self, walk: Walk) -> None:
        """Begin another pass where it is time."""
        now = time.monotonic()
        for source in walk.sources:
            if source.stall is None or not source.stall.is_barren:
                self._since.pop(source.number, None)
            elif now - self._since.setdefault(source.number, now) >= AGAIN_S:
                del self._since[source.number]
                source.retry()


def reading_of(start: Start) -> BeginReading:
    """What the reader of a worker is told first.

    Args:
        start: What the worker was told first.
    """
    data = start.data
    return BeginReading(
        manifest_path=start.manifest_path,
        blobs_dir=start.blobs_dir,
        blocks_dir=data.blocks_dir or str(Path(start.state_dir).parent / "blocks"),
        disk_bytes=data.disk_bytes or DISK_BYTES,
        spare_dirs=data.spare_dirs,
        folder=data.folder,
        near=data.near,
        desk_url=data.desk_url,
        desk_token=data.desk_token,
        secrets=data.secrets,
    )


def reading_alone(manifest: Manifest, *, manifest_path: Path, blobs: Path, blocks: Path) -> BeginReading:
    """What a reader is told first where a person trains without others, on text that the manifest may name freely.

    Args:
        manifest: The person's own.
        manifest_path: Its file.
        blobs: The folder of its blobs.
        blocks: A folder for blocks.
    """
    paths = [source.path for source in manifest.sources if source.path]
    return BeginReading(
        manifest_path=str(manifest_path),
        blobs_dir=str(blobs),
        blocks_dir=str(blocks),
        disk_bytes=DISK_BYTES,
        folder=os.path.commonpath(paths) if paths else "",
        near=True,
        secrets=given_secrets(),
    )


def seeds_of(collaboration: bytes, rows: Sequence[DrawnRow]) -> NDArray[np.uint64]:
    """The seeds of some samples, each in its pass (`core.text.order.chance.sample_seeds`)."""
    keys = {(row.source, row.part.number) for row in rows}
    shards_B = np.array([row.block.key.shard for row in rows])
    rows_B = np.array([row.block.key.first + row.row for row in rows])
    seeds_B = np.empty(len(rows), np.uint64)
    for source, number in keys:
        mine = np.array([(row.source, row.part.number) == (source, number) for row in rows])
        seeds_B[mine] = sample_seeds(pass_key_of(collaboration, source, number), shards_B[mine], rows_B[mine])
    return seeds_B
