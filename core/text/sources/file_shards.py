"""Files of any place as shards: which parts of which files a shard is, and what is in them."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from core.api.data_state import DataCode
from core.base.data_source import SHARDS_MAX, DataSource
from core.text.order.filters import read_filters
from core.text.order.shard_index import INDEX_FILE
from core.text.sources.images import classes_beside, image_texts, is_classes, is_images
from core.text.sources.parquet import parquet_texts, row_groups
from core.text.sources.records import (
    Bytes,
    Columns,
    Texts,
    docstring_texts,
    json_texts,
    json_texts_of_range,
    plain_texts,
    plain_texts_of_range,
)
from core.text.sources.source import (
    BLOCK_BYTES,
    READ_BYTES,
    REST,
    Access,
    LeftOut,
    Listing,
    Piece,
    Shard,
    ShardUnreadable,
    SourceStalled,
    listing_digest,
)
from core.text.sources.spans import WHOLE, WINDOW, File, Range, spans_of
from core.text.sources.tables import csv_texts
from core.text.sources.unpack import CODECS

_FORMS: Final = {
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "jsonl"),
    **dict.fromkeys((".csv", ".tsv"), "csv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
}
"""What files hold, as their names end; all others hold plain text."""


LISTS_MAX: Final = 32
"""Number of files of Parquet that are asked for their row groups before any is read."""


class StoredFile(NamedTuple):
    """A file of a place, with its size."""

    name: str
    """Within the place, with "/" between folders."""
    size: int
    """Bytes; 0 where nobody says."""
    ranges: bool = True
    """Whether parts of it can be asked for."""


class FoundFiles(NamedTuple):
    """What there is to read in a place."""

    files: Sequence[StoredFile]
    """In an order that is the same for everybody."""
    left_out: Sequence[LeftOut] = ()


class FilePlace(Protocol):
    """Where the files of a source are."""

    @property
    def network(self) -> bool:
        """Whether reading there takes the network."""

    def found(self) -> FoundFiles:
        """Its files, and those that are not read.

        Raises:
            SourceStalled: they cannot be listed now.
        """

    def read(self, name: str, start: int, end: int | None) -> Iterator[bytes]:
        """The bytes of a range of a file, at most `READ_BYTES` at a time; None: to its end.

        Raises:
            SourceStalled: they cannot be had now.
            ShardUnreadable: they cannot be had at all.
        """


class _Laid(NamedTuple):
    """A listing, and what its shards are."""

    listing: Listing
    files: Sequence[StoredFile]
    spans: Sequence[tuple[Range, ...]]


class FileShards:
    """A source whose text is in files (`TextShards`).

    Args:
        place: Where they are.
        source: As the manifest has it.
        access: What it may use.
        form: What its files hold; empty: as the source says.

    Raises:
        BadInput: the source's filters cannot be used.
    """

    def __init__(self, place: FilePlace, source: DataSource, access: Access, *, form: str = "") -> None:
        self._place = place
        self.network = place.network
        """Whether reading it takes the network."""
        self._source = source
        self._columns = Columns(source.column, tuple(sorted(read_filters(source.filters).columns)))
        self._access = access
        self._forced = form or ("" if source.form == "auto" else source.form)
        self._laid: _Laid | None = None
        self._one_lists = threading.Lock()

    def listing(self) -> Listing:
        """What the source has; it is looked at once.

        Raises:
            SourceStalled: it cannot be listed now, or holds nothing that can be read.
        """
        return self._lay_out().listing

    def read(self, shard: int, block: int = 0, *, copy: Path | None = None) -> Iterator[Piece]:
        """The texts of a shard from the beginning of a block on (`TextShards.read`)."""
        laid = self._lay_out()
        spans = laid.spans[shard]
        if len(spans) == 1 and spans[0].end != WHOLE and not self._is_parquet(laid.files[spans[0].file].name):
            yield from self._read_ranges(laid.files[spans[0].file], spans[0], block)
            return
        yield from numbered_pieces(self._in_order(laid.files, spans, copy), block)

    def _in_order(self, files: Sequence[StoredFile], spans: Sequence[Range], copy: Path | None) -> Iterator[Texts]:
        for span in spans:
            file, given = files[span.file], False
            try:
                for texts in self._texts(file, span, copy):
                    given = True
                    yield texts
            except ShardUnreadable as problem:
                if not given and len(spans) == 1:
                    raise
                self._access.pass_over(LeftOut(file.name, problem.code, first=REST if given else problem.why))

    def _read_ranges(self, file: StoredFile, span: Range, block: int) -> Iterator[Piece]:
        form, _ = self._form(file.name)
        bytes_of = self._bytes(file, None)
        starts = range(span.start, max(span.start + 1, span.end - WINDOW), BLOCK_BYTES)
        for number in range(block, len(starts)):
            start = starts[number]
            end = span.end if number + 1 == len(starts) else starts[number + 1]
            if form == "jsonl":
                found = json_texts_of_range(bytes_of, start, end, self._columns)
            else:
                found = plain_texts_of_range(bytes_of, start, end)
            for texts in found:
                yield Piece(number, *texts)

    def _texts(self, file: StoredFile, span: Range, copy: Path | None) -> Iterator[Texts]:
        form, codec = self._form(file.name)
        bytes_of = self._bytes(file, copy)
        match form:
            case "jsonl":
                return json_texts(bytes_of, codec, self._columns)
            case "parquet":
                return parquet_texts(bytes_of, (span.start, span.end), self._columns)
            case "docstrings":
                return docstring_texts(bytes_of)
            case "csv":
                return csv_texts(bytes_of, codec, self._columns)
            case "images":
                classes = StoredFile(classes_beside(file.name), 0)
                return image_texts(bytes_of, self._bytes(classes, None), codec)
            case _:
                return plain_texts(bytes_of, codec)

    def _bytes(self, file: StoredFile, copy: Path | None) -> Bytes:
        if copy is not None:
            size = copy.stat().st_size
            return Bytes(file.name, size, lambda start, end: read_file(copy, start, end), self._access.pass_over)

        def read(start: int, end: int | None) -> Iterator[bytes]:
            for chunk in self._place.read(file.name, start, end):
                self._access.count(len(chunk))
                yield chunk

        return Bytes(file.name, file.size, read, self._access.pass_over)

    def _form(self, name: str) -> tuple[str, str]:
        """What a file holds, and how it is packed."""
        path = Path(name.lower())
        codec = path.suffix if path.suffix in CODECS else ""
        if not self._forced and is_images(name):
            return "images", codec
        return self._forced or _FORMS.get(Path(path.stem if codec else path.name).suffix, "text"), codec

    def _lay_out(self) -> _Laid:
        with self._one_lists:
            if self._laid is None:
                self._laid = self._look()
            return self._laid

    def _look(self) -> _Laid:
        found, left_out = self._place.found()
        read = (file for file in found if not is_classes(file.name))  # with the images that they belong to
        files = [file for file in read if file.name.rpartition("/")[2] != INDEX_FILE]  # which holds no text
        images = [] if self._forced else [file for file in files if is_images(file.name)]
        files = images or files  # a text beside images is about them
        if not files:
            raise SourceStalled(DataCode.MISSING, name=self._source.address)
        spans = self._spans(files)
        shards = tuple(_shard(files, parts) for parts in spans)
        digest = listing_digest([(file.name, file.size) for file in files] + [(shard.name, 0) for shard in shards])
        return _Laid(Listing(shards, digest, tuple(left_out)), files, spans)

    def _spans(self, files: Sequence[StoredFile]) -> list[tuple[Range, ...]]:
        if self._source.index:  # which numbers files
            return [(Range(number, 0, WHOLE),) for number in range(len(files))]
        found = [File(file.name, file.size, self._splits(file)) for file in files]
        return self._by_row_groups(files, spans_of(found))

    def _by_row_groups(self, files: Sequence[StoredFile], spans: list[tuple[Range, ...]]) -> list[tuple[Range, ...]]:
        """Large files of Parquet as row groups, where they are few: each is asked for its list of them."""
        found: list[tuple[Range, ...]] = []
        large = [len(s) == 1 and files[s[0].file].ranges and self._is_parquet(files[s[0].file].name) for s in spans]
        if sum(large) > LISTS_MAX:
            return spans
        for parts, is_large in zip(spans, large, strict=True):
            (span, *_) = parts
            bytes_of = self._bytes(files[span.file], None)
            groups = row_groups(bytes_of, self._columns, BLOCK_BYTES) if is_large else []
            found += [(Range(span.file, *group),) for group in groups] or [parts]
        return found if len(found) <= SHARDS_MAX else spans

    def _is_parquet(self, name: str) -> bool:
        return self._form(name) == ("parquet", "")

    def _splits(self, file: StoredFile) -> bool:
        form, codec = self._form(file.name)
        return file.ranges and not codec and form in {"text", "jsonl"} and not file.name.lower().endswith(".json")


def numbered_pieces(found: Iterable[Texts], block: int) -> Iterator[Piece]:
    """The pieces of a shard that is read in order, from the beginning of a block on."""
    held = 0
    for texts in found:
        if (number := held // BLOCK_BYTES) >= block:
            yield Piece(number, *texts)
        held += texts.size


def read_file(path: Path, start: int, end: int | None) -> Iterator[bytes]:
    """The bytes of a range of a file of this computer, at most `READ_BYTES` at a time.

    Raises:
        ShardUnreadable: it is gone, or may not be read.
    """
    try:
        with path.open("rb") as file:
            file.seek(start)
            left = READ_BYTES if end is None else end - start
            while left > 0 and (chunk := file.read(min(left, READ_BYTES))):
                yield chunk
                left -= 0 if end is None else len(chunk)
    except OSError as error:
        refused = isinstance(error, PermissionError)
        raise ShardUnreadable(DataCode.REFUSED if refused else DataCode.MISSING, name=path.name) from error


def _shard(files: Sequence[StoredFile], spans: Sequence[Range]) -> Shard:
    first, last = (files[spans[at].file] for at in (0, -1))
    if len(spans) > 1:
        return Shard(f"{first.name} ... {last.name} ({len(spans)})", sum(files[span.file].size for span in spans))
    (span,) = spans
    if span.end == WHOLE or not first.size or (span.start == 0 and span.end == first.size and not span.size):
        return Shard(first.name, first.size)
    return Shard(f"{first.name} [{span.start:,}, {span.end:,})", span.size or span.end - span.start)
