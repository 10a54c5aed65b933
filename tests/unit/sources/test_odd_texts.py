"""Text as people have it: of each odd file the texts that are in it, and its losses by name."""

import json
import time
from functools import partial
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from pyarrow import parquet

from core.api.data_state import DataCode
from core.base.data_source import DataSource
from core.base.problems import BadInput
from core.text.sources.file_shards import read_file
from core.text.sources.opening import open_source
from core.text.sources.parquet import BATCH_BYTES_MAX, _Opened
from core.text.sources.records import Bytes
from core.text.sources.source import Access, LeftOut
from core.text.sources.texts import paragraphs_in, problem_of_trouble, texts_of
from core.training.programs.opened_text import OpenedText
from tests.texts.cases import CASES, CHATS, LONG, LONG_PLAIN, ROWS


@pytest.mark.parametrize("beside", [0, 9], ids=["alone", "beside others"])
@pytest.mark.parametrize("case", CASES)
def test_odd_file_gives_its_texts_and_names_its_loss(tmp_path: Path, case: str, beside: int) -> None:
    odd = CASES[case]
    expected = odd.write(tmp_path, beside=beside)
    if not expected:
        with pytest.raises(BadInput) as refused:
            _read(tmp_path, odd.column)
        assert (odd.loss or str(tmp_path)) in str(refused.value) or str(tmp_path) in str(refused.value)
        return
    texts, lost = _read(tmp_path, odd.column)
    assert "".join("".join(texts).split()) == "".join("".join(expected).split())
    assert odd.plain or texts == expected
    assert odd.loss in " ".join(one.words for one in lost)
    assert len(lost) == bool(odd.loss)


def _read(folder: Path, column: str) -> tuple[list[str], list[LeftOut]]:
    """All texts, and what was lost, which is the same for all that read."""
    source, lost = DataSource(address=str(folder), column=column), list[LeftOut]()
    opened = OpenedText(source)
    shards = range(opened.shard_count)
    texts = [text for shard in shards for text, _ in opened.texts(shard)]
    list(texts_of(source, lose=lost.append).sampled(Random(0)))
    assert opened.passed_over == lost
    return texts, [*opened.listing.left_out, *lost]


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
    with pytest.raises(Exception, match=r"cannot be read|no column 'text'") as raised:
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
    bad, long = ['{"text": 5}'] * 3, [json.dumps({"text": text}) for text in LONG]
    (tmp_path / "a.jsonl").write_text("\n".join([long[0], *bad, *long[1:], *bad]))
    opened = OpenedText(DataSource(address=str(tmp_path)))
    assert opened.shard_count > 1
    for shard in range(opened.shard_count):
        list(opened.texts(shard))
    (loss,) = opened.losses()
    assert (loss.name, loss.code, loss.records) == ("a.jsonl", DataCode.RECORDS, 6)
    assert loss.words.startswith("a.jsonl: 6 records, the first: the line at byte 1")


def test_columns_that_hold_text_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"n": 1, "doc": {"body": "x"}, "messages": CHATS[0]}))
    with pytest.raises(Exception, match="no column 'text'") as raised:
        list(OpenedText(DataSource(address=str(tmp_path))).texts(0))
    assert "'doc.body', 'messages'" in str(raised.value)


def test_shards_of_parquet_have_sizes_in_bytes(tmp_path: Path) -> None:
    rows = [f"{n} " * 200 for n in range(20_000)]
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"text": rows}), path, row_group_size=2_000, compression="none", use_dictionary=False)
    listing = open_source(DataSource(address=str(path)), Access(folder=path)).listing()
    assert len(listing.shards) > 1
    assert sum(shard.size for shard in listing.shards) == pytest.approx(path.stat().st_size, rel=0.01)


def test_sample_of_all_text_reckons_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(LONG_PLAIN)
    opened = OpenedText(DataSource(address=str(tmp_path)))
    assert sum(map(len, opened.sampled(10**9))) * opened.times_sampled() == len(LONG_PLAIN)


def test_long_line_is_cut_between_words() -> None:
    for line in (" ".join(LONG[:9]), "x" * 90_000):
        parts = list(paragraphs_in(line))
        assert len(parts) > 1
        assert ([word for part in parts for word in part.split()] == line.split()) == (" " in line)
        assert "".join(parts) == line


@pytest.mark.parametrize("first", ["A text.", ["A text."], CHATS[0]])
def test_first_record_behind_a_mark_is_read_by_ranges(tmp_path: Path, first: object) -> None:
    """As Notepad saves it, and so large that parts of it are asked for."""
    rows = [json.dumps({"text": text, "score": float("nan")}) for text in (first, *LONG)]
    (tmp_path / "a.jsonl").write_text("\n".join(rows), encoding="utf-8-sig")
    opened = OpenedText(DataSource(address=str(tmp_path)))
    assert opened.shard_count > 1
    assert sum(1 for shard in range(opened.shard_count) for _ in opened.texts(shard)) == 1 + len(LONG)
    assert not opened.passed_over


def test_odd_byte_in_a_long_line_costs_its_word(tmp_path: Path) -> None:
    words = " ".join(LONG[:45]).split(" ")
    line = " ".join(words).encode()
    at = line.index(b" ", 300_000)
    (tmp_path / "a.txt").write_bytes(line[:at] + b" caf\xe9" + line[at:])
    texts, (lost,) = _read(tmp_path, "text")
    assert " ".join("".join(texts).split()).split(" ") == words
    assert lost.records == 1


def test_long_row_groups_are_not_read_row_by_row(tmp_path: Path) -> None:
    """A hundred megabytes, as most programs write them: with a dictionary that ends early."""
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"text": [f"{n} " * 900 for n in range(20_000)]}), path, compression="zstd")
    group = parquet.ParquetFile(path).metadata.row_group(0).column(0)
    assert group.has_dictionary_page
    assert group.total_uncompressed_size > 64 * 1024**2
    with _Opened(Bytes(path.name, path.stat().st_size, partial(read_file, path))) as opened:
        assert opened.row_bytes(0, 0) < BATCH_BYTES_MAX / 10
    assert sum(1 for _ in OpenedText(DataSource(address=str(path))).texts(0)) == 20_000
