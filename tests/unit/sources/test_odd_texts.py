"""Text as people have it: for each odd file the texts that a reference finds, and its losses by name.

The reference is written here file by file, with Python's own `json`, `csv` and `pyarrow`, or by hand: it shares nothing
with the reader.
"""

import bz2
import gzip
import io
import json
import lzma
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from core.api.data_state import DataCode
from core.base.data_source import DataSource
from core.sources.source import Access, LeftOut, open_source
from core.sources.texts import problem_of_trouble, texts_of
from core.training.opened_text import OpenedText

WORDS = [f"Row {n} says something of its own." for n in range(40)]
ROWS = [json.dumps({"text": text}) for text in WORDS]
CHAT = [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hello."}]


def lines(*more: str, at: int = 20) -> bytes:
    """Good lines of JSON with others between them."""
    return "\n".join([*ROWS[:at], *more, *ROWS[at:], ""]).encode("utf-8", "surrogateescape")


def table(kind: pa.DataType, values: Sequence[Any]) -> bytes:
    file = io.BytesIO()
    parquet.write_table(pa.table({"text": pa.array(values, kind)}), file)
    return file.getvalue()


def nested() -> bytes:
    file = io.BytesIO()
    parquet.write_table(pa.table({"doc": pa.array([{"text": text, "n": 1} for text in WORDS])}), file)
    return file.getvalue()


def table_of_bytes() -> bytes:
    """Strings of which one is Latin-1, as a writer that looks at nothing makes them."""
    raw = pa.array([*map(str.encode, WORDS[:20]), b"caf\xe9", *map(str.encode, WORDS[21:])], pa.binary())
    return table(pa.string(), pa.Array.from_buffers(pa.string(), len(raw), raw.buffers()))


LONG = [f"{n} " + "word " * 25_000 for n in range(40)]
"""Texts that are more than one block."""
LONG_ROWS = [json.dumps({"text": text}) for text in LONG]
CSV = "id,text\n" + "".join(f"{n},{text}\n" for n, text in enumerate(WORDS))
TSV = "id\ttext\n" + "".join(f"{n}\t{text}\n" for n, text in enumerate(WORDS))
GZIPPED = gzip.compress(lines() * 40)

CASES: dict[str, tuple[str, bytes, str, list[str], str]] = {
    # name: file, bytes, column, texts of the reference, what is told of the loss
    "plain json lines": ("a.jsonl", lines(), "text", WORDS, ""),
    "lone surrogate": ("a.jsonl", lines('{"text": "\\ud83d"}'), "text", WORDS, "1 record, the first: row 21"),
    "byte of Latin-1": ("a.jsonl", lines('{"text": "caf\udce9"}'), "text", WORDS, "1 record, the first: row 21"),
    "line cut in half": ("a.jsonl", lines('{"text": "half'), "text", WORDS, "row 21, not valid JSON"),
    "number for a text": ("a.jsonl", lines('{"text": 5}'), "text", WORDS, "row 21, no text in a column 'text'"),
    "no text at all": ("a.jsonl", lines('{"n": 5}', '{"n": 6}'), "text", WORDS, "2 records, the first: row 21"),
    "null and empty": ("a.jsonl", lines('{"text": null}', '{"text": ""}', ""), "text", WORDS, ""),
    "mark of UTF-8": ("a.jsonl", b"\xef\xbb\xbf" + lines(), "text", WORDS, ""),
    "UTF-16 of Notepad": ("a.jsonl", lines().decode().encode("utf-16"), "text", WORDS, ""),
    "UTF-16, big end": ("a.jsonl", b"\xfe\xff" + lines().decode().encode("utf-16-be"), "text", WORDS, ""),
    "ends of lines of Windows": ("a.jsonl", lines().replace(b"\n", b"\r\n"), "text", WORDS, ""),
    "one array": ("a.json", json.dumps([json.loads(row) for row in ROWS], indent=2).encode(), "text", WORDS, ""),
    "array with a number": ("a.json", b"[1," + ",".join(ROWS).encode() + b"]", "text", WORDS, "row 1, no text"),
    "array cut in half": ("a.json", ("[" + ",".join(ROWS)).encode(), "text", WORDS[:-1], "a.json"),
    "nested": ("a.jsonl", "\n".join(f'{{"doc": {row}}}' for row in ROWS).encode(), "doc.text", WORDS, ""),
    "chat": ("a.jsonl", json.dumps({"messages": CHAT}).encode(), "messages", ["Hello?\n\nHello."], ""),
    "list of texts": ("a.jsonl", json.dumps({"text": ["One.", "Two."]}).encode(), "text", ["One.\n\nTwo."], ""),
    "gzip cut in half": ("a.jsonl.gz", GZIPPED[: len(GZIPPED) - 9], "text", WORDS * 40, "a.jsonl.gz"),
    "xz": ("a.jsonl.xz", lzma.compress(lines()), "text", WORDS, ""),
    "bz2 in two streams": ("a.jsonl.bz2", bz2.compress(lines()) * 2, "text", WORDS * 2, ""),
    "csv": ("a.csv", CSV.encode(), "text", WORDS, ""),
    "csv with a mark": ("a.csv", b"\xef\xbb\xbf" + CSV.encode(), "text", WORDS, ""),
    "csv of UTF-16": ("a.csv", CSV.encode("utf-16"), "text", WORDS, ""),
    "ragged row": ("a.csv", (CSV + "7,a,b\n").encode(), "text", WORDS, "row 41, 3 columns in place of 2"),
    "quoted lines": ("a.csv", (CSV + '8,"two\nlines"\n').encode(), "text", [*WORDS, "two\nlines"], ""),
    "quote without an end": ("a.csv", (CSV + '9,"open\n').encode(), "text", WORDS, "not a row of CSV"),
    "quote in the middle": (
        "a.csv",
        CSV.replace("\n20,", '\n20,"').encode(),
        "text",
        WORDS[:20] + WORDS[21:],
        "1 record, the first: row 21, not a row of CSV (a quote without an end)",
    ),
    "head of comments": ("a.jsonl", b"# not a record\n" * 30 + lines(), "text", WORDS, "30 records, the first: row 1"),
    "array with a broken record": (
        "a.json",
        ("[" + ",".join([*ROWS[:20], '{"text": oops}', *ROWS[20:]]) + "]").encode(),
        "text",
        WORDS,
        "1 record, the first: row 21, not valid JSON",
    ),
    "chat with a call of a tool": (
        "a.jsonl",
        json.dumps({"messages": [*CHAT, {"role": "assistant", "content": None}]}).encode(),
        "messages",
        ["Hello?\n\nHello."],
        "",
    ),
    "csv with Latin-1": ("a.csv", CSV.encode() + b"9,caf\xe9\n", "text", WORDS, "row 41, not UTF-8"),
    "tsv": ("a.tsv", TSV.encode(), "text", WORDS, ""),
    "tsv with a quote": ("a.tsv", (TSV + '7\t"So\n8\tit" ends\n').encode(), "text", [*WORDS, '"So', 'it" ends'], ""),
    "tsv with a tab too many": ("a.tsv", (TSV + "7\ta\tb\n").encode(), "text", WORDS, "row 41, 3 columns"),
    "large strings": ("a.parquet", table(pa.large_string(), WORDS), "text", WORDS, ""),
    "string view": ("a.parquet", table(pa.string_view(), WORDS), "text", WORDS, ""),
    "dictionary": ("a.parquet", table(pa.dictionary(pa.int32(), pa.string()), WORDS), "text", WORDS, ""),
    "list column": ("a.parquet", table(pa.list_(pa.string()), [["One.", "Two."]]), "text", ["One.\n\nTwo."], ""),
    "chat in Parquet": ("a.parquet", table(None, [CHAT]), "text", ["Hello?\n\nHello."], ""),  # type: ignore[arg-type]
    "nested in Parquet": ("a.parquet", nested(), "doc.text", WORDS, ""),
    "bytes in the place of text": (
        "a.parquet",
        table_of_bytes(),
        "text",
        [*WORDS[:20], *WORDS[21:]],
        "row 21, not UTF-8",
    ),
    "array with Latin-1": (
        "a.json",
        b"[" + lines('{"text": "caf\udce9"}').strip().replace(b"\n", b",") + b"]",
        "text",
        WORDS,
        "row 21, not valid JSON",
    ),
    "large file of UTF-16": ("a.jsonl", "\n".join(LONG_ROWS).encode("utf-16"), "text", LONG, ""),
    "large array in lines": ("a.jsonl", b"[" + ",".join(LONG_ROWS).encode() + b"]", "text", LONG, ""),
    "plain text with a mark": ("a.txt", b"\xef\xbb\xbfOnce.", "text", ["Once."], ""),
    "plain text of Notepad": ("a.txt", "Ünder.".encode("utf-16"), "text", ["Ünder."], ""),
}


@pytest.mark.parametrize("others", [[], ["A good text beside it."]], ids=["alone", "beside others"])
@pytest.mark.parametrize("case", CASES)
def test_odd_file_gives_the_references_texts_and_names_its_loss(tmp_path: Path, case: str, others: list[str]) -> None:
    name, data, column, expected, loss = CASES[case]
    (tmp_path / name).write_bytes(data)
    for other in others:
        (tmp_path / "z.txt").write_text(other)
    lost: list[LeftOut] = []
    access = Access(folder=tmp_path, pass_over=lost.append)
    source = open_source(DataSource(address=str(tmp_path), column=column), access)
    shards = range(len(source.listing().shards))
    assert [text for shard in shards for piece in source.read(shard) for text in piece.texts] == expected + others
    assert loss in " ".join(one.words for one in lost)
    assert len(lost) == bool(loss)
    opened = OpenedText(DataSource(address=str(tmp_path), column=column))
    assert [text for shard in shards for text, _ in opened.texts(shard)] == expected + others
    assert opened.passed_over == lost
    again: list[LeftOut] = []
    list(texts_of(DataSource(address=str(tmp_path), column=column), lose=again.append).read([*map(str, shards)]))
    assert again == lost


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("a.jsonl", b"\n".join([b"{]"] * 9 + [ROWS[0].encode()]), DataCode.DAMAGED),
        ("a.jsonl", b'{"content": "x"}\n' * 9, DataCode.NO_COLUMN),
        ("a.csv", b"text\n" + b"a,b\n" * 9, DataCode.DAMAGED),
        ("a.tsv", b"words\na\n", DataCode.NO_COLUMN),
    ],
)
def test_file_is_refused_where_most_records_are_bad(tmp_path: Path, name: str, data: bytes, code: DataCode) -> None:
    (tmp_path / name).write_bytes(data)
    opened = OpenedText(DataSource(address=str(tmp_path)))
    with pytest.raises(Exception, match=r"cannot be read|no text in a column") as raised:
        list(opened.texts(0))
    cause = raised.value.__cause__
    assert cause is not None
    assert getattr(cause, "code", None) == code
    assert str(problem_of_trouble(cause)) == str(raised.value)  # type: ignore[arg-type]


def test_array_of_json_takes_time_by_its_size(tmp_path: Path) -> None:
    """A long text and very many short ones behind it, which once took a minute."""
    (tmp_path / "a.json").write_text('[{"text":"' + "x" * 4_300_000 + '"}' + ',{"text":"a"}' * 300_000 + "]")
    began = time.process_time()
    opened = OpenedText(DataSource(address=str(tmp_path)))
    assert sum(1 for _ in opened.texts(0)) == 300_001
    assert time.process_time() - began < 10


def test_row_of_parquet_is_counted_from_the_beginning(tmp_path: Path) -> None:
    rows = [b"A text. " * 4_000 for _ in range(400)]
    rows[300] = b"caf\xe9"
    path = tmp_path / "a.parquet"
    texts = pa.array(rows, pa.binary()).view(pa.string())  # as programs write it that look at no byte
    parquet.write_table(pa.table({"text": texts}), path, row_group_size=150, compression="none", use_dictionary=False)
    opened = OpenedText(DataSource(address=str(path)))
    assert opened.shard_count > 1
    assert sum(1 for shard in range(opened.shard_count) for _ in opened.texts(shard)) == 399
    assert [one.first.partition(",")[0] for one in opened.passed_over] == ["row 301"]


def test_records_of_one_file_are_one_loss(tmp_path: Path) -> None:
    bad = ['{"text": 5}'] * 3
    (tmp_path / "a.jsonl").write_text("\n".join([LONG_ROWS[0], *bad, *LONG_ROWS[1:], *bad]))
    opened = OpenedText(DataSource(address=str(tmp_path)))
    assert opened.shard_count > 1
    for shard in range(opened.shard_count):
        list(opened.texts(shard))
    (loss,) = opened.losses()
    assert (loss.name, loss.code, loss.records) == ("a.jsonl", DataCode.RECORDS, 6)
    assert loss.words.startswith("a.jsonl: 6 records, the first: the line at byte 1")


def test_columns_that_hold_text_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"n": 1, "doc": {"body": "x"}, "messages": CHAT}))
    with pytest.raises(Exception, match="no text in a column") as raised:
        list(OpenedText(DataSource(address=str(tmp_path))).texts(0))
    assert "'doc.body', 'messages'" in str(raised.value)


def test_shards_of_parquet_have_sizes_in_bytes(tmp_path: Path) -> None:
    rows = [f"{n} " * 200 for n in range(20_000)]
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"text": rows}), path, row_group_size=2_000, compression="none", use_dictionary=False)
    listing = open_source(DataSource(address=str(path)), Access(folder=path)).listing()
    assert len(listing.shards) > 1
    assert sum(shard.size for shard in listing.shards) == pytest.approx(path.stat().st_size, rel=0.01)
