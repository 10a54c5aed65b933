"""From a source's pieces to rows: documents, filters, the share that is held out, and the task's cutter."""

import threading
import unicodedata
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from random import Random
from typing import Final, Protocol, cast

import msgspec

from core.base.content import digest
from core.base.manifest import Manifest
from core.base.problems import unknown_name
from core.base.tasks import CUTTERS
from core.tasks.cutter import Cutter, Row
from core.tasks.task import Blobs
from core.text.order.documents import Document, is_held_out
from core.text.order.filters import Filters
from core.text.sources.source import Piece
from core.text.sources.texts import documents_in

ROWS_EDITION: Final = 1
"""To be raised by a change of this program after which equal texts give other rows."""


def rows_digest(collaboration: bytes, cutter: Cutter, *, edition: int = ROWS_EDITION) -> bytes:
    """Digest of what decides about rows beside the text, so that rows of different versions are never mixed.

    Args:
        collaboration: The manifest's id.
        cutter: The task's.
        edition: Edition of this program's way from text to rows.
    """
    try:
        tokenizers = version("tokenizers")
    except PackageNotFoundError:  # a frozen program keeps no account of its packages
        tokenizers = ""
    facts = (collaboration.hex(), cutter.width, cutter.numbers_max, edition, unicodedata.unidata_version, tokenizers)
    return digest(msgspec.json.encode(facts))


@dataclass(slots=True)
class Counts:
    """What a reader has done so far (`core.reading.frames.Tally`)."""

    bytes_read: int = 0
    network_bytes: int = 0
    documents: int = 0
    left_out: int = 0
    rows: int = 0
    reading: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, *, documents: int = 0, left_out: int = 0, rows: int = 0) -> None:
        """Count what was made of a piece."""
        with self.lock:
            self.documents += documents
            self.left_out += left_out
            self.rows += rows

    def add_bytes(self, count: int, *, network: bool) -> None:
        """Count bytes that came from a file, or from the network."""
        with self.lock:
            self.bytes_read += count
            self.network_bytes += count if network else 0


class OpenShard:
    """A shard that is being read, block by block.

    Args:
        shard: Its number in the source.
        block: The block to begin with.
        first: Number of that block's first row.
        pieces: What the source gives from there on.
    """

    def __init__(self, shard: int, *, block: int, first: int, pieces: Iterator[Piece]) -> None:
        self.shard = shard
        self.block = block
        self.first = first
        self.ended = False
        """Whether the block that was read last is the shard's last."""
        self._pieces = pieces
        self._ahead: Piece | None = None

    def pieces_of_block(self) -> Iterator[Piece]:
        """The pieces of one block, to be read to the end; then `block` is the next one's number."""
        begun = False
        while True:
            if self._ahead is None:
                self._ahead = next(self._pieces, None)
            if self._ahead is None:
                self.ended = True
                return
            if begun and self._ahead.block != self.block:
                self.block = self._ahead.block
                return
            begun, self.block = True, self._ahead.block
            piece, self._ahead = self._ahead, None
            yield piece


@dataclass(frozen=True, slots=True)
class RowMaker:
    """Makes the rows of one source's blocks; equal bytes give equal rows on every machine.

    Args:
        collaboration: What its chance follows from (`core.base.manifest.Manifest.chance`).
        source: The source's place in the manifest.
        cutter: The task's.
        filters: The source's.
        counts: What is counted.
        core: Held by the thread that computes, so that all sources together keep one core busy.
    """

    collaboration: bytes
    source: int
    cutter: Cutter
    filters: Filters
    counts: Counts
    core: threading.Lock

    def rows(self, shard: OpenShard, look: Callable[[], None]) -> Generator[Row, None, None]:
        """The rows of the next block of a shard.

        Args:
            shard: Where it is read; afterwards it stands before the block after it.
            look: Called before each piece; what it raises ends the rows.
        """

        def pieces() -> Iterator[Piece]:
            for piece in _beside(shard.pieces_of_block(), self.core):
                look()
                yield piece

        stream = pieces()
        with self.core:
            for first in stream:
                chance = Random(self._seed(shard.shard, first.block))  # noqa: S311 - everybody must draw the same
                yield from self.cutter.cut(self._documents(chain([first], stream)), chance)

    def _documents(self, pieces: Iterable[Piece]) -> Iterator[Document]:
        sieve = self.filters.sieve()
        for piece in pieces:
            found = left_out = 0
            for place, text in enumerate(piece.texts):
                if piece.rows is not None and not sieve.keeps(text, piece.rows[place]):
                    left_out += 1
                    continue
                for document in documents_in(text):
                    if piece.rows is None and not sieve.keeps("\n".join(document)):
                        left_out += 1
                    elif not is_held_out(document):
                        found += 1
                        yield document
            self.counts.add(documents=found, left_out=left_out)

    def _seed(self, shard: int, block: int) -> int:
        place = b"".join(number.to_bytes(8, "big") for number in (self.source, shard, block))
        return int.from_bytes(digest(self.collaboration + place)[:8], "big")


def _beside(pieces: Iterator[Piece], core: threading.Lock) -> Iterator[Piece]:
    """The pieces; while one is waited for, others may compute."""
    while True:
        core.release()
        try:
            piece = next(pieces, None)
        finally:
            core.acquire()
        if piece is None:
            return
        yield piece


class _CutterModule(Protocol):
    """A module, one of those that `core.base.tasks.CUTTERS` names."""

    def open_cutter(self, manifest: Manifest, blobs: Blobs) -> Cutter: ...


def open_cutter(manifest: Manifest, blobs: Blobs) -> Cutter:
    """The cutter of a manifest's task.

    Raises:
        BadInput: this version does not know the task, or its numbers or blobs cannot be used.
    """
    if manifest.task not in CUTTERS:
        raise unknown_name("task", manifest.task, CUTTERS)
    return cast("_CutterModule", import_module(CUTTERS[manifest.task])).open_cutter(manifest, blobs)
