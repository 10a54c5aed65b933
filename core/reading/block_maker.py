"""Makes blocks of one source's shards, one at a time, and goes on where reading was interrupted."""

import time
from collections.abc import Callable
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np

from core.reading.block_file import BlockFile, Seal
from core.reading.block_store import BlockKey, BlockStore
from core.reading.room import OWN_TROUBLE
from core.reading.rows import OpenShard, RowMaker
from core.text.sources.source import SourceStalled, TextShards

FIRST_ROWS: Final = 512
"""Rows after which a growing block is said first: as many as the worker's shuffle buffer needs to begin."""
SAY_S: Final = 1.0
"""Time after which a block that has not doubled is said again, seconds."""


class BlockMaker:
    """Makes one block after the other.  A block whose reading was interrupted is made again, and its file goes on.

    Args:
        source: Where the text comes from.
        rows: Makes rows of it.
        store: Keeps the blocks.
        grown: Called with a block's name, its file and how many rows are in it, as it grows.
    """

    def __init__(
        self, source: TextShards, rows: RowMaker, store: BlockStore, grown: Callable[[BlockKey, Path, int], None]
    ) -> None:
        self._source = source
        self._rows = rows
        self._store = store
        self._grown = grown
        self._open: OpenShard | None = None
        self._growing: tuple[BlockKey, BlockFile] | None = None

    def make(
        self, shard: int, row: int, look: Callable[[], None], fetch: Callable[[], Path | None]
    ) -> tuple[BlockKey, Path, Seal]:
        """The block of a shard in which a row stands, from the disk or made anew.

        Args:
            shard: The shard.
            row: Number of the row; behind the shard's end there is one block without rows.
            look: Called now and then; what it raises ends the making.
            fetch: Brings a file with the shard's bytes; None: the source is read itself.

        Returns:
            The block's name, its file, and what it holds.

        Raises:
            SourceStalled: it cannot be had now; where files of this computer are the trouble, its file is gone.
            ShardUnreadable: it cannot be read on; what `grown` was told of holds.
        """
        kept = self._store.find(BlockKey(self._rows.source, shard, row))
        if kept is not None:
            return BlockKey(self._rows.source, shard, row), kept.path, kept.seal
        try:
            opened = self._position(shard, row, look, fetch)
            return self._write(opened, look)
        except BaseException as error:
            self._open = None
            if isinstance(error, SourceStalled) and error.code in OWN_TROUBLE:
                self.give_up()  # what one source holds and cannot finish may be what another one waits for
            raise

    def give_up(self) -> None:
        """What is being made is not wanted any more."""
        self._open = None
        self._give_up_file()

    def _position(self, shard: int, row: int, look: Callable[[], None], fetch: Callable[[], Path | None]) -> OpenShard:
        """The shard, open where the block with a row begins."""
        opened = self._open
        if opened is not None and opened.shard == shard and opened.first == row:
            return opened
        copy = fetch()
        block, first = self._store.place(self._rows.source, shard, row)
        opened = self._open_at(shard, block, first, copy)
        while opened.first < row and not opened.ended:
            block, first = opened.block, opened.first
            with closing(self._rows.rows(opened, look)) as rows:
                count = sum(1 for _ in rows)
            if first + count > row:
                return self._open_at(shard, block, first, copy)
            opened.first += count
        return opened

    def _open_at(self, shard: int, block: int, first: int, copy: Path | None) -> OpenShard:
        pieces = self._source.read(shard, block, copy=copy)
        self._open = OpenShard(shard, block=block, first=first, pieces=pieces)
        return self._open

    def _write(self, opened: OpenShard, look: Callable[[], None]) -> tuple[BlockKey, Path, Seal]:
        key = BlockKey(self._rows.source, opened.shard, opened.first)
        while True:
            file, skipped = self._file(key, opened.block)
            said, said_at = skipped, time.monotonic()
            with closing(self._rows.rows(opened, look)) as stream:
                rows = islice(stream, skipped, None)
                while part := list(islice(rows, FIRST_ROWS)):
                    self._store.append(file, np.stack(part))
                    self._rows.counts.add(rows=len(part))
                    now = time.monotonic()
                    if file.rows >= 2 * said or now - said_at >= SAY_S:
                        self._grown(key, file.path, file.rows)
                        said, said_at = file.rows, now
            if file.rows or opened.ended:
                break
            self._give_up_file()  # nothing in it: the next block takes its name
        self._growing = None
        self._store.finish(key, file, last=opened.ended)
        opened.first += file.rows
        self._open = None if opened.ended else opened
        return key, file.path, Seal(file.rows, opened.ended)

    def _file(self, key: BlockKey, block: int) -> tuple[BlockFile, int]:
        """The block's file, and how many of its rows are in it already."""
        if self._growing is not None and self._growing[0] == key:
            return self._growing[1], self._growing[1].rows
        self._give_up_file()
        self._growing = (key, self._store.begin(key, block))
        return self._growing[1], 0

    def _give_up_file(self) -> None:
        if self._growing is not None:
            self._store.give_up(self._growing[1])
            self._growing = None
