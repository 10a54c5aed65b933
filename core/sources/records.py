"""Forms of text: how the bytes of a file become texts, each of which stands on its own."""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec

from core.api.data_state import DataCode
from core.data.documents import docstring_paragraphs
from core.sources.source import PIECE_BYTES, READ_BYTES, NoColumn, ShardUnreadable
from core.sources.spans import ByteBuffer, text_of_range, text_of_stream
from core.sources.unpack import unpacked

RECORD_BYTES_MAX: Final = 16 * 1024 * 1024
"""Upper bound on a line of JSON and on a row of a CSV file: no text of a person is longer."""
PROGRAM_BYTES_MAX: Final = READ_BYTES * 32
"""Of a longer Python program nothing is read."""
_STRANGE_MAX: Final = 0.02
"""Share of letters that are none in what passes for text."""

Row = Mapping[str, object]
NO_COLUMNS: Final[Row] = MappingProxyType({})


class Texts(NamedTuple):
    """Some texts of a file, in order."""

    texts: tuple[str, ...]
    rows: tuple[Row, ...] | None = None
    """Of a table, what else stands in the row of each text, as far as it was asked for."""

    @property
    def size(self) -> int:
        """Letters of all of them together."""
        return sum(map(len, self.texts))


@dataclass(frozen=True, slots=True)
class Columns:
    """What is read of a table."""

    text: str
    """Where the text stands."""
    others: tuple[str, ...] = ()
    """What filters ask for."""


@dataclass(frozen=True, slots=True)
class Bytes:
    """A file whose bytes can be had."""

    name: str
    size: int
    """0 where nobody says."""
    read: Callable[[int, int | None], Iterable[bytes]]
    """The bytes of a range, in chunks of at most `core.sources.source.READ_BYTES`; None: to the end."""

    def whole(self, codec: str) -> Iterator[bytes]:
        """All bytes of the file, unpacked."""
        return unpacked(self.read(0, None), codec, self.name)


def plain_texts(file: Bytes, codec: str) -> Iterator[Texts]:
    """The texts of a file of plain text, read in order."""
    return (_decoded(piece, file.name) for piece in text_of_stream(file.whole(codec)))


def plain_texts_of_range(file: Bytes, start: int, end: int) -> Iterator[Texts]:
    """The texts of a range of a file of plain text."""
    return (_decoded(piece, file.name) for piece in text_of_range(file.read, start, end, file.size))


def json_texts(file: Bytes, codec: str, columns: Columns) -> Iterator[Texts]:
    """The texts of JSON lines, read in order."""
    return gathered(_texts_of_lines(_lines(ByteBuffer(file.whole(codec)), file.name), columns, file.name))


def json_texts_of_range(file: Bytes, start: int, end: int, columns: Columns) -> Iterator[Texts]:
    """The texts of the JSON lines that begin in a range of a file."""
    return gathered(_texts_of_lines(_lines_of_range(file, start, end), columns, file.name))


def csv_texts(file: Bytes, codec: str, columns: Columns) -> Iterator[Texts]:
    """The texts of a column of a table of comma- or tab-separated values, whose first row names its columns."""
    return gathered(_texts_of_table(file, codec, columns))


def docstring_texts(file: Bytes) -> Iterator[Texts]:
    """The documentation of a Python program, as one text."""
    program = b"".join(islice(file.whole(""), PROGRAM_BYTES_MAX // READ_BYTES)).decode("utf-8", "replace")
    try:
        text = "\n\n".join(docstring_paragraphs(program, topics=file.name == "pydoc_data/topics.py"))
    except (SyntaxError, ValueError, RecursionError) as error:
        raise ShardUnreadable(DataCode.DAMAGED, name=file.name) from error
    if text.strip():
        yield Texts((text,))


def _decoded(piece: bytes, name: str) -> Texts:
    text = piece.decode("utf-8", "replace").removeprefix("\ufeff")
    if text.count("\ufffd") + text.count("\0") > max(8, _STRANGE_MAX * len(text)):
        raise ShardUnreadable(DataCode.DAMAGED, name=name)
    return Texts((text,))


def gathered(found: Iterable[tuple[str, Row]]) -> Iterator[Texts]:
    """Texts and their rows together, as soon as they are a piece."""
    texts: list[str] = []
    rows: list[Row] = []
    held = 0
    for text, row in found:
        texts.append(text)
        rows.append(row)
        held += len(text)
        if held >= PIECE_BYTES:
            yield Texts(tuple(texts), tuple(rows))
            texts, rows, held = [], [], 0
    if texts:
        yield Texts(tuple(texts), tuple(rows))


def _lines(buffer: ByteBuffer, name: str) -> Iterator[bytes]:
    while line := buffer.line(RECORD_BYTES_MAX):
        if len(line) >= RECORD_BYTES_MAX:
            raise ShardUnreadable(DataCode.DAMAGED, name=name)
        yield line


def _lines_of_range(file: Bytes, start: int, end: int) -> Iterator[bytes]:
    buffer = ByteBuffer(file.read(max(0, start - 1), None))
    at = max(0, start - 1)
    while start and at < end:  # the line in which the range begins is the one's before
        passed = buffer.line(min(RECORD_BYTES_MAX, end - at))
        at += len(passed)
        if not passed or passed.endswith(b"\n"):
            break
    for line in _lines(buffer, file.name) if at < end else ():
        yield line
        at += len(line)
        if at >= end:
            return


def _texts_of_lines(lines: Iterable[bytes], columns: Columns, name: str) -> Iterator[tuple[str, Row]]:
    others = {f"other{place}": column for place, column in enumerate(columns.others)}
    fields: list[tuple[str, Any, Any]] = [("text", str | None, msgspec.NODEFAULT)]
    fields += [(field, Any, None) for field in others]
    record = msgspec.defstruct("Record", fields, rename={"text": columns.text, **others}, frozen=True)
    decode: Callable[[bytes], Any] = msgspec.json.Decoder(record).decode
    for line in lines:
        if line.isspace():
            continue
        try:
            found = decode(line)
        except msgspec.ValidationError as error:
            raise NoColumn(name, columns.text, _fields(line)) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ShardUnreadable(DataCode.DAMAGED, name=name) from error
        if found.text:
            row = {column: getattr(found, field) for field, column in others.items()} if others else NO_COLUMNS
            yield found.text, row


def _fields(line: bytes) -> list[str]:
    """The names of a record's fields that hold text; none, where it is no record."""
    try:
        found = msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return []
    return [name for name, value in found.items() if isinstance(value, str)]


def _texts_of_table(file: Bytes, codec: str, columns: Columns) -> Iterator[tuple[str, Row]]:
    csv.field_size_limit(RECORD_BYTES_MAX)
    lines = (line.decode("utf-8", "replace") for line in _lines(ByteBuffer(file.whole(codec)), file.name))
    rows = csv.reader(lines, delimiter="\t" if ".tsv" in file.name.lower()[-8:] else ",")
    try:
        head = [name.removeprefix("\ufeff") for name in next(rows, [])]
        if columns.text not in head:
            raise NoColumn(file.name, columns.text, head)
        place = head.index(columns.text)
        others = [(column, head.index(column)) for column in columns.others if column in head]
        for row in rows:
            if row and len(row) != len(head):
                raise NoColumn(file.name, columns.text)
            if row and row[place]:
                yield row[place], {column: row[at] for column, at in others} if others else NO_COLUMNS
    except csv.Error as error:
        raise ShardUnreadable(DataCode.DAMAGED, name=file.name) from error
