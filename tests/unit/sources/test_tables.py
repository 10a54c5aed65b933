import bz2
import csv
import gzip
import io
import json
import lzma
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from backports import zstd

from core.api.data_state import DataCode
from core.base.data_source import DataSource
from core.text.sources.opening import open_source
from core.text.sources.source import Access, LeftOut, Piece, SourceTrouble, TextShards
from core.text.sources.texts import problem_of_trouble
from tests.web_server import web_server

RECORDS = [
    {"n": n, "text": f"Text {n}, of some “words”\nin 2 lines. " * (1 + n % 40), "lang": "bn"} for n in range(9000)
]
ROWS: list[dict[str, Any]] = [*RECORDS, {"n": 1, "text": "", "lang": "en"}, {"n": 2, "text": None, "lang": "en"}]
TEXTS = [record["text"] for record in RECORDS]


def table_csv(delimiter: str = ",") -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, ["n", "text", "lang"], delimiter=delimiter)
    writer.writeheader()
    writer.writerows(ROWS)
    return out.getvalue().encode()


def table_parquet(path: Path, rows: list[dict[str, Any]] = ROWS, **how: Any) -> bytes:
    pq.write_table(pa.Table.from_pylist(rows), path, **how)
    return path.read_bytes()


def opened(address: object, *, lost: list[LeftOut] | None = None, **fields: Any) -> TextShards:
    path = Path(str(address))
    folder = path if path.is_absolute() else None
    access = Access(folder=folder, pass_over=([] if lost is None else lost).append)
    return open_source(DataSource(address=str(address), **fields), access)


def pieces(source: TextShards) -> list[Piece]:
    return [piece for shard in range(len(source.listing().shards)) for piece in source.read(shard)]


def texts(source: TextShards) -> list[str]:
    return [text for piece in pieces(source) for text in piece.texts]


def trouble(source: TextShards) -> SourceTrouble:
    with pytest.raises(SourceTrouble) as caught:
        texts(source)
    return caught.value


LINES = b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("a.jsonl", lambda: LINES),
        ("a.jsonl.gz", lambda: gzip.compress(LINES)),
        ("a.ndjson.zst", lambda: zstd.compress(LINES[:400_000]) + zstd.compress(LINES[400_000:])),
        ("a.csv", table_csv),
        ("a.json.xz", lambda: lzma.compress(b"[" + b",\n".join(LINES.splitlines()) + b"]")),
        ("a.jsonl.bz2", lambda: bz2.compress(LINES)),
    ],
)
def test_every_form_gives_the_texts_in_order(name: str, made: Callable[[], bytes], tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(made())
    source = opened(tmp_path, filters={"is:lang": "bn"})
    assert texts(source) == TEXTS
    assert {row["lang"] for piece in pieces(source) for row in piece.rows or ()} == {"bn"}
    assert {row for piece in pieces(opened(tmp_path)) for row in map(len, piece.rows or ())} == {0}
    later = [piece for piece in source.read(0) if piece.block == 1]
    assert list(source.read(0, 1)) == later


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd", "gzip"])
def test_row_groups_are_shards(compression: str, tmp_path: Path) -> None:
    table_parquet(tmp_path / "a.parquet", ROWS * 3, compression=compression, row_group_size=4000, use_dictionary=False)
    source = opened(tmp_path, filters={"least:n": 3})
    assert len(source.listing().shards) >= 2 if compression != "zstd" else 1
    assert texts(source) == TEXTS * 3
    assert [row["n"] for piece in pieces(source) for row in piece.rows or ()] == list(range(9000)) * 3


def test_only_the_columns_that_are_needed_come(tmp_path: Path) -> None:
    rows = [{"text": f"text {n}", "other": f"{n:04}" * 5000} for n in range(2000)]
    data = table_parquet(tmp_path / "a", rows, compression="none", use_dictionary=False)
    with web_server({"/a.parquet": data}) as site:
        source = opened(f"{site.url}/a.parquet")
        assert texts(source) == [row["text"] for row in rows]
        assert len(data) > 40_000_000
        assert site.sent < 8_000_000


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_a_wrong_column_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(LINES)
    (tmp_path / "a.csv").write_bytes(table_csv())
    table_parquet(tmp_path / "a.parquet", compression="none", use_dictionary=False, row_group_size=3000)
    found = trouble(opened(tmp_path / name, column="content"))
    assert (found.code, found.arguments) == (DataCode.NO_COLUMN, {"name": name, "column": "content"})
    hint = problem_of_trouble(found).hint
    assert "'text', " in hint
    assert "'lang'" in hint
    assert "--column" in hint
    if name != "a.csv":
        assert trouble(opened(tmp_path / name, column="n")).code == DataCode.NO_TEXT


def test_a_schema_that_changes_costs_its_own_records(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(LINES + b'{"body": "x"}\n' + LINES)
    lost: list[LeftOut] = []
    assert texts(opened(tmp_path / "a.jsonl", lost=lost)) == TEXTS * 2
    at = f"the line at byte {len(LINES):,}"
    assert lost == [LeftOut("a.jsonl", DataCode.RECORDS, 1, f"{at}, no column 'text'")]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.jsonl", b'{"text": "' + b"x" * (17 << 20) + b'"}\n'),
        ("a.jsonl", b'{"n": ' + b"[" * 100_000 + b"\n"),
        ("a.jsonl.zst", b"no zstd at all" * 9),
        ("a.parquet", b"PAR1" + b"x" * 500 + b"PAR1"),
        ("a.parquet", b"x" * 5_000_000 + (2_000_000_000).to_bytes(4, "little") + b"PAR1"),
        ("a.parquet", b"This is no Parquet."),
    ],
)
def test_damaged_files_are_told(name: str, data: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    found = trouble(opened(tmp_path / name))
    assert (found.code, found.arguments["name"]) == (DataCode.DAMAGED, name)


def test_a_flipped_bit_in_parquet_ends_its_shard(tmp_path: Path) -> None:
    data = bytearray(table_parquet(tmp_path / "a.parquet", row_group_size=3000, write_page_checksum=True))
    for place in range(3000, len(data) - 20_000, 5000):
        data[place] ^= 64
    (tmp_path / "a.parquet").write_bytes(data)
    assert trouble(opened(tmp_path / "a.parquet")).code == DataCode.DAMAGED


def test_a_large_row_group_takes_little_memory(tmp_path: Path) -> None:
    rows = [{"text": f"{n} " * 5000} for n in range(6000)]
    table_parquet(tmp_path / "a.parquet", rows, compression="zstd", use_dictionary=False)
    del rows
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    count, most = 0, 0
    for piece in opened(tmp_path / "a.parquet").read(0):
        count += sum(map(len, piece.texts))
        most = max(most, pa.total_allocated_bytes() - before + tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    assert count > 140_000_000
    assert most < 40_000_000
