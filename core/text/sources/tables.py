"""Tables of comma- or tab-separated values: rows as texts."""

import csv
from collections import deque
from collections.abc import Iterator
from itertools import count
from typing import Final

from core.text.sources.records import (
    NO_COLUMNS,
    NOT_UTF8,
    RECORD_BYTES_MAX,
    Bytes,
    Columns,
    RecordTally,
    Row,
    Texts,
    gathered,
    lines_of,
)
from core.text.sources.source import NoColumn
from core.text.sources.spans import ByteBuffer
from core.text.sources.values import is_utf8

LINES_MAX: Final = 10_000
"""Upper bound on the lines of one record: a quote without an end makes no more of a file into one text."""


def csv_texts(file: Bytes, codec: str, columns: Columns) -> Iterator[Texts]:
    """The texts of a column of a table of comma- or tab-separated values, whose first row names its columns."""
    records = RecordTally(file)
    return gathered(_texts_of_table(file, codec, columns, records), records)


def _texts_of_table(file: Bytes, codec: str, columns: Columns, records: RecordTally) -> Iterator[tuple[str, Row]]:
    rows = _rows(file, codec, records)
    head = next(rows, (0, []))[1]
    if columns.text not in head:
        raise NoColumn(file.name, columns.text, head)
    place = head.index(columns.text)
    others = [(column, head.index(column)) for column in columns.others if column in head]
    for number, row in rows:
        if not row:
            continue
        if len(row) != len(head):
            records.skip(number, f"{len(row)} columns in place of {len(head)}")
        elif not is_utf8(row[place]):
            records.skip(number, NOT_UTF8)
        else:
            records.good()
            if row[place]:
                yield row[place], {column: row[at] for column, at in others} if others else NO_COLUMNS
    records.end()


def _rows(file: Bytes, codec: str, records: RecordTally) -> Iterator[tuple[int, list[str]]]:
    """The rows of a table by their numbers: with tabs (IANA's text/tab-separated-values: no quotes), or commas."""
    found = lines_of(ByteBuffer(file.whole(codec)), records, 0)
    lines = (line.decode("utf-8", "surrogateescape") for _, line in found)
    if file.name.lower().removesuffix(codec).endswith(".tsv"):
        rows = (line.rstrip("\r\n").split("\t") if line.strip("\r\n") else [] for line in lines)
        yield from enumerate(rows)
        return
    csv.field_size_limit(RECORD_BYTES_MAX)
    ahead = deque[str]()
    for number in count():
        taken, whole = _record_of(lines, ahead)
        if not taken:
            return
        try:
            if not whole:
                raise csv.Error("a quote without an end")  # noqa: TRY301 - told like the library's own
            yield number, next(csv.reader(taken, strict=True), [])
        except csv.Error as error:
            records.skip(number, f"not a row of CSV ({error})")
            ahead.extendleft(reversed(taken[1:]))  # the line with the fault is lost, and no other one


def _record_of(lines: Iterator[str], ahead: deque[str]) -> tuple[list[str], bool]:
    """The lines of the next record (RFC 4180): up to the one that ends with all quotes closed.

    Args:
        lines: Lines of the file.
        ahead: Lines that were read before, and come first.

    Returns:
        The lines, none at the end of the file; and whether all quotes are closed.
    """
    taken: list[str] = []
    quotes = size = 0
    while len(taken) < LINES_MAX and size < RECORD_BYTES_MAX:
        line = ahead.popleft() if ahead else next(lines, None)
        if line is None:
            break
        taken.append(line)
        quotes += line.count('"')
        size += len(line)
        if quotes % 2 == 0:
            return taken, True
    return taken, False
