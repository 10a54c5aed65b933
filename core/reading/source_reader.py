"""One source of a reader: a thread that opens it, and makes the blocks that the worker wants."""

import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

from core.api.data_state import DataCode
from core.base.back_off import BackOff
from core.base.data_source import SHARDS_MAX
from core.reading.block_file import Seal
from core.reading.block_maker import BlockMaker
from core.reading.block_store import BlockKey, BlockStore
from core.reading.copies import Copies
from core.reading.news import NAME_LETTERS, SourceNews
from core.reading.room import OWN_TROUBLE
from core.reading.rows import RowMaker
from core.reading.wishes import GivenUp, Wish, Wishes
from core.text.sources.source import ShardUnreadable, SourceStalled, SourceTrouble, TextShards

RETRY_S: Final = 2.0
RETRY_S_MAX: Final = 40.0
"""With its jitter a back-off lasts from one second to a minute."""
WHOLE_SOURCE: Final = OWN_TROUBLE | {DataCode.NETWORK_RESTS}
"""What holds up all shards of a source alike."""
_SOURCE: Final = -1
"""Stands for the source itself among its shards."""


LINES_MAX: Final = 500
"""Shards of a source that have a line in the log, at most: with five kilobytes each, if every letter has to be escaped,
they fit a log (`core.system.child_process.LOG_BYTES_MAX`)."""
SAID_LETTERS: Final = 200
"""Letters of an exception's text that a line keeps."""
FRAMES_MAX: Final = 3
"""The innermost calls that a line names."""


class Faults:
    """Has whatever goes wrong with one source's bytes concern one shard alone: no bytes end this process.

    A stranger can have every shard fail in every pass.  Each has one line, however often it fails, of bounded length,
    so a stranger gains `LINES_MAX` lines.
    """

    def __init__(self) -> None:
        self._told: set[int] = set()

    @contextmanager
    def of(self, shard: int, name: str = "") -> Iterator[None]:
        """Read something of a shard.

        Args:
            shard: Its number, or another one for the source itself.
            name: Name of the shard, for people.

        Raises:
            ShardUnreadable: anything went wrong that is not trouble which a source names itself.
        """
        try:
            yield
        except (SourceTrouble, GivenUp):
            raise
        except Exception as error:
            if shard not in self._told and len(self._told) < LINES_MAX:
                self._told.add(shard)
                sys.stderr.write(fault_line(name, error))
            raise ShardUnreadable(DataCode.DAMAGED, name=name) from error


def fault_line(name: str, error: Exception) -> str:
    """What went wrong with a shard of this name, and in which calls, the innermost first."""
    said = "".join(traceback.format_exception_only(error)).strip()[:SAID_LETTERS]
    frames = reversed(traceback.extract_tb(error.__traceback__, limit=-FRAMES_MAX))
    where = " < ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames)
    return f"Damaged text {name[-NAME_LETTERS:]!a}: {said!a} in {where}\n"


class SourceReader:
    """Serves the wishes for one source in a thread of its own.

    Args:
        source: The source.
        rows: Makes rows of it.
        store: Keeps its blocks.
        news: Tells the worker.
        rest: Returns at once, or when computing is allowed again.
        copies: Knows where shards lie.
    """

    def __init__(
        self,
        source: TextShards,
        rows: RowMaker,
        store: BlockStore,
        news: SourceNews,
        rest: Callable[[], None],
        copies: Copies,
    ) -> None:
        self.wishes = Wishes()
        """The worker's wishes for this source."""
        self._source = source
        self._rows = rows
        self._store = store
        self._news = news
        self._rest = rest
        self._copies = copies
        self._maker = BlockMaker(source, rows, store, self._grown)
        random = Random()  # noqa: S311 - jitter is not secret
        self._failures = BackOff[int](first=RETRY_S, longest=RETRY_S_MAX, random=random, things_max=SHARDS_MAX)
        self._faults = Faults()
        self._names: Sequence[str] = ()

    def start(self) -> None:
        """Begin, in a thread that ends with the process."""
        threading.Thread(target=self._run, name=f"source {self._rows.source}", daemon=True).start()

    def _run(self) -> None:
        while not self._is_open():
            self.wishes.wait(self._failures.wait(_SOURCE, time.monotonic()))
        while True:
            self._serve(*self.wishes.jobs())

    def _is_open(self) -> bool:
        try:
            self._rest()
            with self._faults.of(_SOURCE):
                listing = self._source.listing()
            self._store.open_source(self._rows.source, listing.digest)
        except SourceTrouble as trouble:
            self._stall(trouble)
            return False
        self._names = [shard.name for shard in listing.shards]
        self._news.opened(listing)
        return True

    def _serve(self, again: Sequence[Wish], wanted: Sequence[Wish]) -> None:
        """Make one block, or wait a while where none can be had."""
        now, jobs = time.monotonic(), (*again, *wanted)
        ready = self._ready(again, now) or self._ready(wanted, now)
        if self._failures.is_excluded(_SOURCE, now) or not ready:
            self.wishes.wait(max(self._failures.wait(_SOURCE, now), self._soonest(jobs, now)))
            return
        shard = next(reversed(ready))
        is_kept = self._store.has(BlockKey(self._rows.source, shard, ready[shard].row))
        if not is_kept:
            shard = self._copies.pick(list(reversed(ready)))
        wish = ready[shard]
        self._rows.counts.reading = self._names[shard] if shard < len(self._names) else ""
        look = partial(self._look, wish)
        try:
            with self._faults.of(shard, self._rows.counts.reading):
                key, path, seal = self._maker.make(shard, wish.row, look, lambda: self._copies.fetch(shard, look))
        except GivenUp:
            self._maker.give_up()
        except SourceStalled as trouble:
            self._stall_shard(trouble, shard, jobs)
        except ShardUnreadable as trouble:
            self._maker.give_up()
            self._copies.done(shard)
            self.wishes.lose(shard)
            if self._source.network:  # lest all members ask a server that an organiser names for all that it has not
                self._failures.fail(_SOURCE, time.monotonic())
            self._news.unreadable(shard, trouble)
        else:
            if not is_kept:
                self._failures.clear(shard)
                self._failures.clear(_SOURCE)
                self._news.flows()
            if seal.last:
                self._copies.done(shard)
            self.wishes.fulfil(wish)
            self._news.block(key, path, seal, whole=True)

    def _ready(self, jobs: Sequence[Wish], now: float) -> dict[int, Wish]:
        """By shard those that can be tried now, the first one last."""
        return {job.shard: job for job in reversed(jobs) if not self._failures.is_excluded(job.shard, now)}

    def _grown(self, key: BlockKey, path: Path, rows: int) -> None:
        self._news.flows()
        self._news.block(key, path, Seal(rows, last=False), whole=False)

    def _look(self, wish: Wish) -> None:
        """Rest where that was asked for; raise where the shard is not wanted any more."""
        self._rest()
        if not self.wishes.holds(wish):
            raise GivenUp

    def _stall_shard(self, trouble: SourceStalled, shard: int, jobs: Sequence[Wish]) -> None:
        """Leave a shard alone for a while; where that holds for all that are wanted, say so."""
        now = time.monotonic()
        if trouble.code in WHOLE_SOURCE:
            self._stall(trouble)
            return
        self._failures.fail(shard, now)
        if all(self._failures.is_excluded(job.shard, now) for job in jobs):
            self._news.stalled(trouble, self._soonest(jobs, now))

    def _stall(self, trouble: SourceTrouble) -> None:
        now = time.monotonic()
        self._news.stalled(trouble, self._failures.fail(_SOURCE, now) - now)

    def _soonest(self, jobs: Sequence[Wish], now: float) -> float:
        return min((self._failures.wait(job.shard, now) for job in jobs), default=0.0)
