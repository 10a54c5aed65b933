"""Forms of text: how the bytes of a file become texts, each of which stands on its own."""

import codecs
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, NamedTuple, cast

import msgspec

from core.api.data_state import DataCode
from core.text.order.documents import docstring_paragraphs
from core.text.sources.source import PIECE_BYTES, READ_BYTES, LeftOut, NoColumn, ShardUnreadable
from core.text.sources.spans import WINDOW, ByteBuffer, text_of_range, text_pieces
from core.text.sources.unpack import unpacked
from core.text.sources.values import ABSENT, is_utf8, said_in, texts_in, value_in

RECORD_BYTES_MAX: Final = 16 * 1024 * 1024
"""Upper bound on a line of JSON and on a row of a CSV file: no text of a person is longer."""
PROGRAM_BYTES_MAX: Final = READ_BYTES * 32
"""Upper bound on a Python program; nothing is read of a longer one."""
TOO_LONG: Final = "longer than any text"
NOT_UTF8: Final = "not UTF-8"
BYTE: Final = "the line at byte"
"""What a record is called where nobody knows how many stand before it."""
_BETWEEN: Final = re.compile(r"[ \t\r\n,]*")
_WORD: Final = re.compile(rb"[^ \t]+[ \t]*|[ \t]+")
_NEXT: Final = re.compile(r"\}\s*,\s*(?=\{)")
"""Behind a record of an array, where the next one begins."""
Row = Mapping[str, object]
NO_COLUMNS: Final[Row] = MappingProxyType({})
FEW: Final = 10_000
"""Number of bad records before a file is given up before its end: a bound on work, above any head of comments."""
MARKS: Final = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
"""Byte order marks of what is not UTF-8, as Windows' Notepad writes them."""
MARK: Final = b"\xef\xbb\xbf"
"""Byte order mark of UTF-8, which says nothing."""


class Texts(NamedTuple):
    """Some texts of a file, in order."""

    texts: tuple[str, ...]
    rows: tuple[Row, ...] | None = None
    """What else stands in each text's row of a table, as far as it was asked for."""

    @property
    def size(self) -> int:
        """Letters of all of them together."""
        return sum(map(len, self.texts))


@dataclass(frozen=True, slots=True)
class Columns:
    """What is read of a table."""

    text: str
    """Name of the column in which the text stands."""
    others: tuple[str, ...] = ()
    """Names of the columns that filters ask for."""


@dataclass(frozen=True, slots=True)
class Bytes:
    """A file whose bytes can be had."""

    name: str
    size: int
    """0 where nobody says."""
    read: Callable[[int, int | None], Iterable[bytes]]
    """The bytes of a range, in chunks of at most `core.text.sources.source.READ_BYTES`; None: to the end."""
    lose: Callable[[LeftOut], None] = lambda _: None
    """Told at the end which records could not be read."""

    def whole(self, codec: str) -> Iterator[bytes]:
        """All bytes of the file, unpacked, as UTF-8 without a byte order mark."""
        return _unmarked(unpacked(self.read(0, None), codec, self.name))


class RecordTally:
    """The records of a file, or of a part of it, as they are read: a bad one is skipped, counted and named.

    Those of plain text are its lines.

    What is skipped follows from the bytes alone, so everybody who reads the file reads the same texts.

    Args:
        file: The file.
        unit: What `at` counts: rows, lines, or bytes.
    """

    def __init__(self, file: Bytes, unit: str = "row") -> None:
        self._file = file
        self._unit = unit
        self._good = self._bad = 0
        self._first = ""
        self._refusal = ShardUnreadable(DataCode.DAMAGED, name=file.name)

    @property
    def refused(self) -> bool:
        """Whether most of the records until now are bad."""
        return self._bad > self._good

    def length(self, passed: bytes) -> int:
        """How far a part of the file leads on, as `at` counts."""
        return len(passed) if self._unit == BYTE else passed.count(b"\n")

    def good(self, count: int = 1) -> None:
        """Count records that could be read."""
        self._good += count

    def skip(self, at: int, why: str, refusal: ShardUnreadable | None = None) -> None:
        """Count one more record that cannot be read.

        Args:
            at: Which it is.
            why: What is wrong with it.
            refusal: What is wrong with the file, if most of its records are like the first one.

        Raises:
            ShardUnreadable: most of the records until now are bad.
        """
        self._bad += 1
        if self._bad == 1:
            self._first = f"{self._unit} {at:,}, {why}"
            self._refusal = refusal or ShardUnreadable(DataCode.DAMAGED, name=self._file.name, why=self._first)
        if self._bad > max(FEW, self._good):
            raise self._refusal

    def end(self) -> None:
        """Tell what was lost; the file has come to its end.

        Raises:
            ShardUnreadable: most of its records are bad.
        """
        if self.refused:
            raise self._refusal
        if self._bad:
            self._file.lose(LeftOut(self._file.name, DataCode.RECORDS, self._bad, self._first))


def plain_texts(file: Bytes, codec: str) -> Iterator[Texts]:
    """The texts of a file of plain text, read in order."""
    return _plain(text_pieces(ByteBuffer(file.whole(codec))), RecordTally(file, "line"), 1)


def plain_texts_of_range(file: Bytes, start: int, end: int) -> Iterator[Texts]:
    """The texts of a range of a file of plain text."""
    begin, pieces = text_of_range(file.read, start, end, file.size)
    return _plain(pieces, RecordTally(file, BYTE), begin)


def json_texts(file: Bytes, codec: str, columns: Columns) -> Iterator[Texts]:
    """The texts of JSON lines, read in order."""
    buffer, records = ByteBuffer(file.whole(codec)), RecordTally(file)
    array = buffer.peek(READ_BYTES).lstrip()[:1] == b"["
    lines = enumerate(_elements(buffer, file.name), start=1) if array else lines_of(buffer, records, 1)
    return gathered(_texts_of_lines(lines, columns, file, records), records)


def json_texts_of_range(file: Bytes, start: int, end: int, columns: Columns) -> Iterator[Texts]:
    """The texts of the JSON lines that begin in a range of a file."""
    at = max(0, start - 1)
    buffer, records = ByteBuffer(file.read(at, None)), RecordTally(file, BYTE)
    while start and at < end:  # the line in which the range begins is the one's before
        passed = buffer.line(min(RECORD_BYTES_MAX, end - at))
        at += len(passed)
        if not passed or passed.endswith(b"\n"):
            break
    return gathered(_texts_of_lines(lines_of(buffer, records, at, end), columns, file, records), records)


def docstring_texts(file: Bytes) -> Iterator[Texts]:
    """The documentation of a Python program, as one text."""
    program = b"".join(islice(file.whole(""), PROGRAM_BYTES_MAX // READ_BYTES)).decode("utf-8", "replace")
    try:
        text = "\n\n".join(docstring_paragraphs(program, topics=file.name == "pydoc_data/topics.py"))
    except (SyntaxError, ValueError, RecursionError) as error:
        raise ShardUnreadable(DataCode.DAMAGED, name=file.name) from error
    if text.strip():
        yield Texts((text,))


def _plain(pieces: Iterable[bytes], records: RecordTally, at: int) -> Iterator[Texts]:
    """The texts of pieces of plain text, of which the first begins at `at`, without the lines that are not text."""
    for piece in pieces:
        kept: list[str] = []
        for part in [piece] if _decoded(piece) is not None else _parts(piece):
            if (text := _decoded(part)) is None:
                records.skip(at, "a byte of zero" if b"\0" in part else NOT_UTF8)
            else:
                records.good(max(1, part.count(b"\n")))
                kept.append(text)
            at += records.length(part)
        if kept and not records.refused:
            yield Texts(("".join(kept).removeprefix("\ufeff"),))
    records.end()


def _parts(piece: bytes) -> Iterator[bytes]:
    """The lines of a piece of text, and the words of those that are as long as a book's chapter."""
    for line in io.BytesIO(piece):
        yield from _WORD.findall(line) if len(line) > WINDOW else [line]


def _decoded(data: bytes) -> str | None:
    """Some bytes as text; None: they are not text."""
    try:
        return None if b"\0" in data else data.decode()
    except UnicodeDecodeError:
        return None


def gathered(found: Iterable[tuple[str, Row]], records: RecordTally) -> Iterator[Texts]:
    """Texts and their rows together, as soon as they are a piece; those before a file breaks off are given too.

    Args:
        found: The texts.
        records: Records of the file, which is refused where most of them are bad.
    """
    texts: list[str] = []
    rows: list[Row] = []
    held, refused = 0, None
    try:
        for text, row in found:
            texts.append(text)
            rows.append(row)
            held += len(text)
            if held >= PIECE_BYTES:
                yield Texts(tuple(texts), tuple(rows))
                texts, rows, held = [], [], 0
    except ShardUnreadable as error:  # what came before is none the worse for it
        refused = error
    if texts and not records.refused:
        yield Texts(tuple(texts), tuple(rows))
    if refused is not None:
        raise refused


def _unmarked(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes as UTF-8 without a byte order mark at their beginning."""
    rest = iter(chunks)
    head = b""
    while len(head) < len(MARK) and (chunk := next(rest, None)) is not None:
        head += chunk
    codec = MARKS.get(head[:2])
    if codec is None:
        yield head.removeprefix(MARK)
        yield from rest
        return
    decoder = codecs.getincrementaldecoder(codec)("replace")
    yield decoder.decode(head[2:]).encode()
    for chunk in rest:
        yield decoder.decode(chunk).encode()
    yield decoder.decode(b"", final=True).encode()


def lines_of(buffer: ByteBuffer, records: RecordTally, at: int, end: float = math.inf) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that begin in front of `end`, and where each is; of one longer than any record is told.

    Args:
        buffer: The file.
        records: Says what `at` and `end` count.
        at: Where the first line is.
        end: Where to end.
    """
    while at < end and (line := buffer.line(RECORD_BYTES_MAX)):
        begin, short = at, len(line) < RECORD_BYTES_MAX
        at += records.length(line)
        if short:
            yield begin, line
            continue
        while line and not line.endswith(b"\n"):
            line = buffer.line(RECORD_BYTES_MAX)
            at += records.length(line)
        records.skip(begin, TOO_LONG)


def _elements(buffer: ByteBuffer, name: str) -> Iterator[bytes]:
    """The elements of one JSON array that is the whole file, each as JSON; a file that is not an array comes as it is.

    Raises:
        ShardUnreadable: the array breaks off, or what comes behind a bad element cannot be told apart.
    """
    decoder, utf8 = json.JSONDecoder(), codecs.getincrementaldecoder("utf-8")("surrogateescape")
    held, at, wanted = utf8.decode(buffer.take(READ_BYTES)).lstrip(), 1, READ_BYTES
    while True:
        at = cast("re.Match[str]", _BETWEEN.match(held, at)).end()
        if held.startswith("]", at):
            return
        try:
            _, end = decoder.raw_decode(held, at)
        except (ValueError, RecursionError):
            end = len(held)
        if end < len(held):
            yield held[at:end].encode("utf-8", "surrogateescape")
            at, wanted = end, READ_BYTES
            continue
        more = utf8.decode(buffer.take(wanted)) if len(held) - at <= RECORD_BYTES_MAX else ""
        if more:
            held, at, wanted = held[at:] + more, 0, 2 * wanted
            continue
        if (behind := _NEXT.search(held, at)) is None:
            raise ShardUnreadable(DataCode.DAMAGED, name=name)
        yield b"?"
        at = behind.end()


def _texts_of_lines(
    lines: Iterable[tuple[int, bytes]], columns: Columns, file: Bytes, records: RecordTally
) -> Iterator[tuple[str, Row]]:
    others = {f"other{place}": column for place, column in enumerate(columns.others)}
    fields: list[tuple[str, Any, Any]] = [("text", str | None, msgspec.NODEFAULT)]
    fields += [(field, Any, None) for field in others]
    record = msgspec.defstruct("Record", fields, rename={"text": columns.text, **others}, frozen=True)
    decode: Callable[[bytes], Any] = msgspec.json.Decoder(record).decode
    for at, given in lines:
        line = given if at else given.removeprefix(MARK)
        if not line or line.isspace():
            continue
        try:
            found = decode(line)
            text = found.text
            row = {column: getattr(found, field) for field, column in others.items()} if others else NO_COLUMNS
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            try:
                whole = json.loads(line.decode())  # which also takes NaN and infinity, as Python writes them
            except (ValueError, RecursionError):
                records.skip(at, "not valid JSON")
                continue
            value = value_in(whole, columns.text)
            text = said_in(value)
            if text is None:
                no_text = NoColumn(file.name, columns.text, texts_in(whole), holds=value is not ABSENT)
                records.skip(at, no_text.why, no_text)
                continue
            if not is_utf8(text):
                records.skip(at, NOT_UTF8)
                continue
            row = {column: whole.get(column) for column in columns.others} if others else NO_COLUMNS
        records.good()
        if text:
            yield text, row
    records.end()
