"""A source that an organiser names on the command line, opened, with what is read of it counted."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec

from core.api.data_state import DataCode
from core.base.data_source import DataSource
from core.text.order.filters import read_filters
from core.text.sources.index_at import index_at, listed
from core.text.sources.opening import open_source
from core.text.sources.patient import PatientShards
from core.text.sources.source import REST, Access, LeftOut, Listing, SourceTrouble, TextShards
from core.text.sources.texts import problem_of_trouble
from core.text.sources.unpack import CODECS
from core.training.programs.child import say_wait

BEGUN_MAX: Final = 64
"""Number of shards that a sample begins at most."""
LOSSES_MAX: Final = 20
"""Number of files that are not read, or not whole, of which is told what is wrong."""
_PACKED: Final = (*CODECS, ".parquet", ".pq")


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was not read to its end, or records of it that were not."""

    name: str
    code: DataCode
    records: int
    """Their number; 0: the file, or the rest of it."""
    first: str
    """Which was the first of them, and what is wrong with it."""
    words: str
    """All that for people."""


class OpenedText:
    """A source, and how much of it was read.

    Args:
        source: As a manifest would have it; a folder in it counts as named by the person.
        secrets: Credentials (`Access.secrets`).

    Raises:
        BadInput: it cannot be opened or listed, or its filters cannot be used.
    """

    def __init__(self, source: DataSource, secrets: Mapping[str, str] = MappingProxyType({})) -> None:
        self._sieve = read_filters(source.filters).sieve()
        self.bytes_read = 0
        self.sampled_texts = 0
        """Those that do not pass the filters among them."""
        self.sampled_bytes = self._sampled_characters = 0
        self._whole = False
        """Whether all text was sampled."""
        self._measured: list[tuple[int, int]] = []
        """Bytes that were read, and bytes of the text in them."""
        self.passed_over: list[LeftOut] = []
        """Files that turned out unreadable, and records."""
        folder = Path(source.path) if source.path else None
        access = Access(folder=folder, secrets=secrets, count=self._count, pass_over=self.passed_over.append)
        self.index = index_at(source, access)
        """What lies beside the shards of a source that was cut; None: nothing, or something else."""
        opened = open_source(listed(source, self.index), access)
        self.shards: TextShards = PatientShards(opened, say_wait, self.passed_over.append)
        try:
            self.listing: Listing = self.shards.listing()
        except SourceTrouble as trouble:
            raise problem_of_trouble(trouble) from trouble
        self._packed = any(ending in one.name.lower() for one in self.listing.shards for ending in _PACKED)
        """A file has, or may have, more text than bytes."""

    @property
    def shard_count(self) -> int:
        """Files that the index lists; else shards as they are read, of which a small file is a part."""
        return len(self.listing.shards) if self.index is None else len(self.index)

    @property
    def size(self) -> int:
        """Bytes of all shards, as they lie there; 0 where nobody says."""
        if self.index is not None:
            return self.index.size
        sizes = [shard.size for shard in self.listing.shards]
        return sum(sizes) if all(sizes) else 0

    def losses(self) -> list[Loss]:
        """What of the source was not read so far, each file once: those that its listing leaves out come first."""
        found: dict[tuple[str, DataCode], LeftOut] = {}
        for one in (*self.listing.left_out, *self.passed_over):
            known = found.setdefault((one.name, one.code), one)
            if known is not one:
                found[one.name, one.code] = known._replace(records=known.records + one.records)
        return [Loss(**one._asdict(), words=one.words + _why(one)) for one in found.values()]

    def share_read(self) -> float:
        """How far reading it once is."""
        return min(1.0, self.bytes_read / self.size) if self.size else 0.0

    def texts(self, shard: int) -> Iterator[tuple[str, Mapping[str, object]]]:
        """The texts of a shard, in order, each with what else stands in its row.

        Raises:
            BadInput: it cannot be read.
        """
        try:
            for piece in self.shards.read(shard):
                rows = piece.rows or ({},) * len(piece.texts)
                yield from zip(piece.texts, rows, strict=True)
        except SourceTrouble as trouble:
            raise problem_of_trouble(trouble) from trouble

    def sampled(self, bytes_max: int) -> Iterator[str]:
        """Texts that pass the filters from all over the source: the beginnings of shards that stand evenly in it.

        Args:
            bytes_max: Upper bound on the whole text, as UTF-8; what one shard lacks the next ones give.
        """
        count = len(self.listing.shards)
        taken = sorted({place * count // min(count, BEGUN_MAX) for place in range(min(count, BEGUN_MAX))})
        left, self._whole = bytes_max, len(taken) == count
        for number, shard in enumerate(taken):
            share = left // (len(taken) - number)
            given, read, before = 0, self.bytes_read, self.bytes_read
            begun: tuple[int, int] | None = None
            for text, row in self.texts(shard):
                if self.bytes_read > read > before:
                    if begun and given > share:
                        self._measured.append((read - begun[0], given - begun[1]))
                        break
                    begun = begun or (read, given)
                read = self.bytes_read
                if given <= share:
                    self.sampled_texts += 1
                    self.sampled_bytes += len(text.encode("utf-8", "replace"))
                    self._sampled_characters += len(text)
                    if self._sieve.keeps(text, row):
                        yield text
                else:
                    self._whole = False
                given += len(text.encode("utf-8", "replace"))
            else:
                self._measured.append((self.bytes_read - before, given))
                self._packed |= given > self.bytes_read - before
            left -= given

    def times_sampled(self) -> float:
        """How many times as much text there is as was sampled; 0: nobody can say.  An index knows its characters."""
        if self._whole:
            return 1.0
        if self.index is not None:
            return sum(self.index.characters) / self._sampled_characters
        return self._text_bytes() / self.sampled_bytes

    def _text_bytes(self) -> float:
        """Bytes of all text as UTF-8, reckoned from what was sampled; 0: nobody can say.

        A shard is read in stretches, and texts come later than the bytes that they are made of, by as much each time:
        what came between two stretches is held against the bytes between them.  Files that are not packed have no more
        text than bytes, whatever the stretches say.
        """
        read, given = (sum(found) for found in zip(*self._measured, strict=True)) if self._measured else (0, 0)
        share = given / read if read else 0.0
        return self.size * (share if self._packed else min(1.0, share))

    def _count(self, read: int) -> None:
        self.bytes_read += read


def _why(lost: LeftOut) -> str:
    """Why a file is not read, in brackets; empty: records are not, and their words say it."""
    first = "" if lost.first == REST else lost.first
    return "" if lost.records else f" ({first or lost.code.replace('-', ' ')})"
