"""Tables of comma- or tab-separated values: rows as texts."""

import csv
from collections.abc import Iterator

from core.sources.records import (
    NO_COLUMNS,
    RECORD_BYTES_MAX,
    Bytes,
    Columns,
    RecordTally,
    Row,
    Texts,
    gathered,
    lines_of,
)
from core.sources.source import NoColumn
from core.sources.spans import ByteBuffer


def csv_texts(file: Bytes, codec: str, columns: Columns) -> Iterator[Texts]:
    """The texts of a column of a table of comma- or tab-separated values, whose first row names its columns."""
    records = RecordTally(file)
    return gathered(_texts_of_table(file, codec, columns, records), records)


def _texts_of_table(file: Bytes, codec: str, columns: Columns, records: RecordTally) -> Iterator[tuple[str, Row]]:
    rows = _rows(file, codec, records)
    head = next(rows, [])
    if columns.text not in head:
        raise NoColumn(file.name, columns.text, head)
    place = head.index(columns.text)
    others = [(column, head.index(column)) for column in columns.others if column in head]
    for number, row in enumerate(rows, start=1):
        if not row:
            continue
        if len(row) != len(head):
            records.skip(number, f"{len(row)} columns in place of {len(head)}")
        elif not _is_utf8(row[place]):
            records.skip(number, "not UTF-8")
        else:
            records.good()
            if row[place]:
                yield row[place], {column: row[at] for column, at in others} if others else NO_COLUMNS
    records.end()


def _rows(file: Bytes, codec: str, records: RecordTally) -> Iterator[list[str]]:
    """The rows of a table, with tabs (IANA's text/tab-separated-values: no quotes) or commas (RFC 4180) in them."""
    csv.field_size_limit(RECORD_BYTES_MAX)
    lines = (line.decode("utf-8", "surrogateescape") for line in lines_of(ByteBuffer(file.whole(codec)), records))
    if ".tsv" in file.name.lower()[-8:]:
        yield from (line.rstrip("\r\n").split("\t") if line.strip("\r\n") else [] for line in lines)
        return
    rows = csv.reader(lines, strict=True)
    while True:
        try:
            yield next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            records.skip(rows.line_num, f"not a row of CSV ({error})")


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
