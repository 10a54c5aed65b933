"""Cutting a source into shards of equal size, which can be kept anywhere, checked and shared between peers.

A shard is a file of JSON lines, one text in each, compressed.  The first one is filled until it weighs what was asked
for; all others have as many characters, give or take half a text, and the last one has the rest.  What weighs a little
more or less on the disk so makes equal work.
"""

import sys
import zlib
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from itertools import islice
from typing import Final, Literal, NamedTuple, Protocol

import msgspec

from core.base.content import root_digest
from core.base.data_source import SHARDS_MAX
from core.base.problems import BadInput
from core.text.order.documents import DOCUMENT_CHARS_MAX
from core.text.order.filters import Sieve, read_filters
from core.text.order.shard_index import SHARD_BYTES_MAX, ShardHash
from core.text.sources.cut_journal import CutJournal, CutShard, TextPlace
from core.text.sources.source import SourceTrouble, TextShards
from core.text.sources.texts import paragraphs_in, problem_of_trouble

TEXT_CHARS_MAX: Final = 16_000
"""A longer text becomes several, of whole paragraphs: plain text is read in stretches, and shards shall be equal."""
ZSTD_LEVEL: Final = 10
GZIP_LEVEL: Final = 6

Ending = Literal["jsonl", "jsonl.gz", "jsonl.zst"]


class _Packer(Protocol):
    def compress(self, data: bytes) -> bytes:
        """Bytes of the file, as many as there are."""

    def flush(self) -> bytes:
        """The rest of the file, after which nothing comes."""


class _Plain:
    def compress(self, data: bytes) -> bytes:
        return data

    def flush(self) -> bytes:
        return b""


def _packer(ending: Ending) -> _Packer:
    """Packs to the same bytes every time, with the same version of the library."""
    match ending:
        case "jsonl.zst":
            own = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
            packer: _Packer = import_module(own).ZstdCompressor(level=ZSTD_LEVEL)
            return packer
        case "jsonl.gz":
            return zlib.compressobj(GZIP_LEVEL, wbits=31)
        case "jsonl":
            return _Plain()


@dataclass
class _ShardFile:
    """A shard that is being filled."""

    begin: TextPlace
    packer: _Packer
    parts: list[bytes] = field(default_factory=list)
    size: int = 0
    documents: int = 0
    characters: int = 0

    def add(self, text: str) -> None:
        self._keep(self.packer.compress(msgspec.json.encode({"text": text}) + b"\n"))
        self.documents += 1
        self.characters += len(text)

    def done(self, end: TextPlace) -> tuple[CutShard, bytes]:
        """What is to be known of it, and its bytes."""
        self._keep(self.packer.flush())
        data = b"".join(self.parts)
        found = ShardHash()
        found.update(data)
        return (
            CutShard(
                begin=self.begin,
                end=end,
                size=len(data),
                documents=self.documents,
                characters=self.characters,
                root=root_digest(found.digests),
            ),
            data,
        )

    def _keep(self, part: bytes) -> None:
        self.parts.append(part)
        self.size += len(part)


class CutResult(NamedTuple):
    """A shard that was cut just now."""

    shard: CutShard
    data: bytes
    """Bytes of its file."""
    journal: CutJournal
    """Journal that knows of it."""


@dataclass(frozen=True)
class Cutting:
    """Cuts one source.

    Args:
        source: Where the text comes from.
        journal: How it is cut, and what of it is done.
        leave_out: Called for each text that does not pass the filters.
    """

    source: TextShards
    journal: CutJournal
    leave_out: Callable[[], None] = lambda: None

    def go_on(self) -> Iterator[CutResult]:
        """Cut all that is not cut yet; the last shard's journal is whole.

        Raises:
            BadInput: the source cannot be read, or makes no shard, or too many.
        """
        journal = self.journal
        waiting: CutResult | None = None
        for shard, data in self._shards(journal.shards[-1].end if journal.shards else TextPlace(0, 0)):
            if waiting is not None:
                yield waiting
            journal = msgspec.structs.replace(journal, shards=(*journal.shards, shard))
            if len(journal.shards) > SHARDS_MAX:
                raise BadInput(
                    "The text makes more than {most} shards.", f"{SHARDS_MAX:,}", hint="Cut larger ones: --shard-mb."
                )
            waiting = CutResult(shard, data, journal)
        if waiting is None:
            raise BadInput("Nothing in this source passes the filters.", hint="Name other filters, or another source.")
        yield waiting._replace(journal=msgspec.structs.replace(journal, whole=True))

    def again(self, wanted: Container[int]) -> Iterator[tuple[int, bytes]]:
        """Make some shards again, each with its number, as the source gives them now.

        Raises:
            BadInput: the source cannot be read.
        """
        if self._remembers:
            made = enumerate(self._shards(TextPlace(0, 0)))
            yield from ((number, data) for number, (_, data) in made if number in wanted)
            return
        for number, known in enumerate(self.journal.shards):
            if number in wanted:
                yield from ((number, data) for _, data in islice(self._shards(known.begin), 1))

    @property
    def _remembers(self) -> bool:
        """Whether what is in a shard depends on all that came before."""
        return bool(self.journal.source.filters.get("no_duplicates"))

    def _shards(self, begin: TextPlace) -> Iterator[tuple[CutShard, bytes]]:
        """The shards from a place on, where one begins."""
        sieve = read_filters(self.journal.source.filters).sieve()
        full, place = self.journal.characters, begin
        filling = _ShardFile(begin, _packer(self.journal.ending))
        for place, text in self._texts(TextPlace(0, 0) if self._remembers else begin, sieve):
            if text is None:
                self.leave_out()
                continue
            if place <= begin:
                continue
            filling.add(text)
            if self._is_full(filling, full):
                shard, data = filling.done(place)
                full = full or shard.characters
                yield shard, data
                filling = _ShardFile(place, _packer(self.journal.ending))
        if filling.documents:
            yield filling.done(place)

    def _is_full(self, filling: _ShardFile, characters: int) -> bool:
        if filling.size > SHARD_BYTES_MAX // 2:
            return True
        if not characters:
            return filling.size >= self.journal.shard_bytes
        mean = filling.characters / filling.documents
        return filling.characters + mean / 2 >= characters

    def _texts(self, begin: TextPlace, sieve: Sieve) -> Iterator[tuple[TextPlace, str | None]]:
        """The texts from a place on, each with the place behind it; None: one that filters leave out."""
        for shard in range(begin.shard, len(self.source.listing().shards)):
            passed = begin.texts if shard == begin.shard else 0
            try:
                for number, text in enumerate(self._texts_of(shard, sieve), start=1):
                    if number > passed:
                        yield TextPlace(shard, number), text
            except SourceTrouble as trouble:
                raise problem_of_trouble(trouble) from trouble

    def _texts_of(self, shard: int, sieve: Sieve) -> Iterator[str | None]:
        for piece in self.source.read(shard):
            for number, text in enumerate(piece.texts):
                if piece.rows is None:
                    yield from (part if sieve.keeps(part) else None for part in parted_text(text))
                elif sieve.keeps(text, piece.rows[number]):
                    yield from parted_text(text)
                else:
                    yield None


def parted_text(text: str) -> Iterator[str]:
    """A text as it is, or a long one in runs of paragraphs, each of which makes one document."""
    if len(text) <= TEXT_CHARS_MAX:
        yield text
        return
    run: list[str] = []
    held = 0
    for paragraph in paragraphs_in(text):
        run.append(paragraph.strip("\n"))
        held += len(paragraph)
        if held >= DOCUMENT_CHARS_MAX:
            yield "\n\n".join(run)
            run, held = [], 0
    if held:
        yield "\n\n".join(run)
