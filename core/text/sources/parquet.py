"""Parquet, row group by row group, of which only the columns that are needed are read."""

import io
import re
from collections.abc import Iterator
from typing import Any, Final, Self

from core.api.data_state import DataCode
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
)
from core.text.sources.source import READ_BYTES, NoColumn, ShardUnreadable, SourceTrouble
from core.text.sources.spans import WHOLE, ByteBuffer
from core.text.sources.values import SAID, said_in, value_in

FOOTER_BYTES_MAX: Final = 64 * 1024 * 1024
"""Upper bound on the list of a file's row groups: enough for ten thousand of them with a thousand columns each."""
ROWS_MAX: Final = 64
"""Rows that are taken at a time."""
BATCH_BYTES_MAX: Final = 4 * RECORD_BYTES_MAX
"""Upper bound on the text of such rows, if it is more than one."""
PAGE_BYTES_MAX: Final = 512 * 1024 * 1024
"""Upper bound on the first page of a column, which is its dictionary where it has one and then held whole; programs
write one of a megabyte."""
_PAGE: Final = re.compile(rb"\x15(.)\x15([\x80-\xff]{0,4}[\x00-\x7f])", re.DOTALL)
"""How a page begins: its type and the bytes that it unpacks to, as Thrift's compact protocol writes them."""
_DICTIONARY: Final = b"\x04"
_NO_TEXT: Final = object()
"""In the place of a value that claims to be text."""
_MARK: Final = b"PAR1"
_TAIL_BYTES: Final = 8


class _AskedFile(io.RawIOBase):
    """A file whose bytes are asked for range by range, as pyarrow reads it."""

    def __init__(self, file: Bytes) -> None:
        super().__init__()
        self._file = file
        self._at = 0
        self._stream: ByteBuffer | None = None
        self._stream_at = -1
        """Where the stream goes on; -1 before anything was read."""
        self.trouble: SourceTrouble | None = None
        """Why bytes could not be had: pyarrow makes another exception of it."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._file.size}[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        end = self._file.size if size < 0 else min(self._file.size, self._at + size)
        if end <= self._at:
            return b""
        try:
            data = self._taken(end - self._at)
        except SourceTrouble as trouble:
            self.trouble = trouble
            raise OSError(trouble.code.value) from trouble
        self._at = self._stream_at = self._at + len(data)
        return data

    def ahead(self, at: int) -> bytes:
        """Some bytes from `at` on, which are not asked for again where they are read next."""
        if not 0 <= at < self._file.size:
            raise ValueError("beyond the file")
        self._at = self._stream_at = at
        self._stream = ByteBuffer(self._file.read(at, None))
        return self._stream.peek(16)

    def _taken(self, count: int) -> bytes:
        """The next bytes; what goes on where the last ones ended comes in one answer with what follows."""
        if self._at != self._stream_at:
            self._stream = None
            return b"".join(self._file.read(self._at, self._at + count))
        if self._stream is None:
            self._stream = ByteBuffer(self._file.read(self._at, None))
        return self._stream.take(count)


def row_groups(file: Bytes, columns: Columns, least: int) -> list[tuple[int, int, int]]:
    """The row groups of a file, those that follow one another together where they are small.

    Args:
        file: The file.
        columns: What is read of it.
        least: Bytes of text that are worth a shard.

    Returns:
        Of each shard the first row group, the one behind its last, and the bytes that they take in the file.

    Raises:
        SourceStalled: it cannot be had now.
        ShardUnreadable: it is not Parquet.
    """
    with _Opened(file) as opened:
        places = opened.columns(columns)
        found: list[tuple[int, int, int]] = []
        first = held = size = 0
        for number in range(opened.parquet.metadata.num_row_groups):
            group = opened.parquet.metadata.row_group(number)
            held += sum(group.column(place).total_uncompressed_size for place in places)
            size += sum(group.column(place).total_compressed_size for place in range(group.num_columns))
            if held >= least:
                found.append((first, number + 1, size))
                first, held, size = number + 1, 0, 0
        if held:
            found.append((first, opened.parquet.metadata.num_row_groups, size))
        return found


def parquet_texts(file: Bytes, groups: tuple[int, int], columns: Columns) -> Iterator[Texts]:
    """The texts of some row groups of a file.

    Args:
        file: The file.
        groups: The first, and the one behind the last; `WHOLE`: all of them.
        columns: What is read of them.
    """
    records = RecordTally(file)
    return gathered(_rows(file, groups, columns, records), records)


def _rows(file: Bytes, groups: tuple[int, int], columns: Columns, records: RecordTally) -> Iterator[tuple[str, Row]]:
    with _Opened(file) as opened:
        places, stored = opened.columns(columns), opened.parquet.metadata
        number = sum(stored.row_group(group).num_rows for group in range(groups[0]))
        last = stored.num_row_groups if groups[1] == WHOLE else groups[1]
        text = opened.field_of(columns)
        names = [text, *(name for name in columns.others if name in opened.parquet.schema_arrow.names)]
        for group in range(groups[0], last):
            longest = max(opened.row_bytes(group, place) for place in places)
            rows_max = max(1, min(ROWS_MAX, BATCH_BYTES_MAX // max(1, longest)))
            for batch in opened.parquet.iter_batches(rows_max, row_groups=[group], columns=names, use_threads=False):
                texts, *others = (_values(batch.column(name)) for name in names)
                rows = [dict(zip(names[1:], row, strict=True)) for row in zip(*others, strict=True)] if others else []
                for place, value in enumerate(texts):
                    number += 1
                    said = said_in(value_in({text: value}, columns.text))
                    if value is _NO_TEXT:
                        records.skip(number, NOT_UTF8)
                    elif said is None:
                        records.skip(number, NoColumn(file.name, columns.text, holds=True).why)
                    elif len(said) > RECORD_BYTES_MAX:  # where one is, each row may have it, and cost as much
                        raise ShardUnreadable(DataCode.TOO_LARGE, name=file.name)
                    else:
                        records.good()
                        if said:
                            yield said, rows[place] if rows else NO_COLUMNS
        records.end()


def _values(column: Any) -> list[Any]:
    """The values of a column; `_NO_TEXT` for each that is not what its type says."""
    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:
        return [_value(scalar) for scalar in column]


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return _NO_TEXT


class _Opened:
    """A file of Parquet, whose problems are a source's."""

    def __init__(self, file: Bytes) -> None:
        self._name = file.name
        self._file = _AskedFile(file)
        self.parquet: Any = None

    def __enter__(self) -> Self:
        import pyarrow as pa  # noqa: PLC0415 - a quarter of a second, which most sources do not need
        from pyarrow import parquet  # noqa: PLC0415

        try:
            self._check_footer()
            source = pa.PythonFile(self._file, mode="r")
            self.parquet = parquet.ParquetFile(source, buffer_size=READ_BYTES, pre_buffer=False)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._trouble() from error
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        import pyarrow as pa  # noqa: PLC0415

        if isinstance(error, MemoryError):
            raise ShardUnreadable(DataCode.TOO_LARGE, name=self._name) from error
        if isinstance(error, pa.ArrowException | OSError | ValueError | UnicodeDecodeError):
            raise self._trouble() from error

    def columns(self, columns: Columns) -> list[int]:
        """Where the text's column stands among those that are stored, or what it is made of.

        Raises:
            ShardUnreadable: there is none, or it holds no text.
        """
        schema, stored = self.parquet.schema_arrow, self.parquet.metadata.schema
        name = columns.text
        if name in self._texts(schema):
            paths = [stored.column(place).path for place in range(len(stored))]
            return [place for place, path in enumerate(paths) if path == name or path.startswith(f"{name}.")]
        raise NoColumn(self._name, name, self._texts(schema), holds=name in schema.names)

    def field_of(self, columns: Columns) -> str:
        """Return the field of the table in which the text's column is."""
        names = self.parquet.schema_arrow.names
        return columns.text if columns.text in names else columns.text.partition(".")[0]

    def is_text(self, kind: Any) -> bool:
        """Whether each value of a type is one text."""
        from pyarrow import types  # noqa: PLC0415

        kind = kind.value_type if types.is_dictionary(kind) else kind
        return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))

    def _texts(self, fields: Any) -> list[str]:
        """Names of the fields that hold text, in records also those of their fields: "doc.text"."""
        from pyarrow import types  # noqa: PLC0415

        found = []
        for field in fields:
            kind = field.type
            of = kind.value_type if types.is_list(kind) or types.is_large_list(kind) else kind
            said = types.is_struct(of) and of is not kind and any(of.get_field_index(key) >= 0 for key in SAID)
            if self.is_text(of) or said:
                found.append(field.name)
            elif types.is_struct(kind):
                found += [f"{field.name}.{name}" for name in self._texts(kind)]
        return found

    def row_bytes(self, group: int, place: int) -> int:
        """Bytes that each row of a column of a row group may take: what many rows have alike is stored once.

        Raises:
            ShardUnreadable: its values are longer than any text, in the mean, or its first page is.
        """
        column = self.parquet.metadata.row_group(group).column(place)
        size: int = column.total_uncompressed_size
        count: int = max(1, column.num_values)
        if size > RECORD_BYTES_MAX * count:
            raise ShardUnreadable(DataCode.TOO_LARGE, name=self._name)
        if size * ROWS_MAX <= BATCH_BYTES_MAX or "DELTA_BYTE_ARRAY" in column.encodings:
            return size
        head = _PAGE.match(self._file.ahead(column.dictionary_page_offset or column.data_page_offset))
        if head is None:
            raise ValueError("no page")
        unpacked = sum((byte & 0x7F) << 7 * at for at, byte in enumerate(head[2])) >> 1
        if unpacked > PAGE_BYTES_MAX:
            raise ShardUnreadable(DataCode.TOO_LARGE, name=self._name)
        return max(size // count, unpacked if head[1] == _DICTIONARY else 0)

    def _check_footer(self) -> None:
        """Refuse what would have to be read whole to be found wrong."""
        self._file.seek(-_TAIL_BYTES, io.SEEK_END)
        tail = self._file.read(_TAIL_BYTES)
        if tail[4:] != _MARK or int.from_bytes(tail[:4], "little") > FOOTER_BYTES_MAX:
            raise ValueError("no Parquet")
        self._file.seek(0)

    def _trouble(self) -> SourceTrouble:
        return self._file.trouble or ShardUnreadable(DataCode.DAMAGED, name=self._name)
