"""Odd files as people have them, each with the texts that it was made of: no reader of the program is asked."""

import bz2
import gzip
import io
import json
import lzma
import os
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, Final

import pyarrow as pa
from pyarrow import parquet

_DRAWN: Final = Random(1)
_SAID: Final = (
    "river",
    "stone",
    "light",
    "winter",
    "garden",
    "paper",
    "engine",
    "letter",
    "summer",
    "window",
    "forest",
)
WORDS: Final = [f"Row {n} says of itself: {' '.join(_DRAWN.choices(_SAID, k=12))}." for n in range(600)]
"""Enough of them to found a collaboration with."""
BESIDE: Final = {f"z{n:03}.txt": f"{n} {' '.join(_DRAWN.choices(_SAID, k=30))}." for n in range(200)}
"""Good texts beside a file, each in a file of its own."""
ROWS: Final = [json.dumps({"text": text}) for text in WORDS]
CHATS: Final = [[{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": text}] for text in WORDS]
CHATTED: Final = [f"Hello?\n\n{text}" for text in WORDS]
LONG: Final = [f"{n} {' '.join(_DRAWN.choices(_SAID, k=2000))}" for n in range(340)]
"""Texts that are more than one block together, none of which is cut."""
PLAIN: Final = "\n\n".join("\n".join(WORDS[at : at + 5]) for at in range(0, len(WORDS), 5))
LONG_PLAIN: Final = "\n\n".join(LONG)
FIFO: Final = b"fifo"


@dataclass(frozen=True)
class Case:
    """A file, and what is in it.

    Attributes:
        file: Its name.
        data: Its bytes; `FIFO`: a named pipe; a path: a link that leads there.
        texts: What is in it; empty: it is refused.
        loss: What people are told of it, or of records in it; empty: nothing is lost.
        column: Where the text stands.
        plain: Whether it is plain text, of which the words are known, and not how many texts they are.
    """

    file: str
    data: bytes | Path
    texts: Sequence[str]
    loss: str = ""
    column: str = "text"
    plain: bool = False

    def write(self, folder: Path, *, beside: int) -> list[str]:
        """Make the file in a folder, beside so many good ones; returns the texts that are there."""
        others = dict(islice(BESIDE.items(), beside))
        for name, text in others.items():
            (folder / name).write_text(text, encoding="utf-8")
        path = folder / self.file
        if isinstance(self.data, Path):
            path.symlink_to(self.data)
        elif self.data is FIFO:
            os.mkfifo(path)
        else:
            path.write_bytes(self.data)
        return [*self.texts, *others.values()]


def lines(*more: str, at: int = 20) -> bytes:
    """Good lines of JSON with others between them."""
    return "\n".join([*ROWS[:at], *more, *ROWS[at:], ""]).encode("utf-8", "surrogateescape")


def array(*more: str, at: int = 20) -> bytes:
    """The same as one array."""
    return f"[{','.join([*ROWS[:at], *more, *ROWS[at:]])}]".encode("utf-8", "surrogateescape")


def table(kind: pa.DataType | None, values: Sequence[Any], **how: Any) -> bytes:
    file = io.BytesIO()
    parquet.write_table(pa.table({"text": pa.array(values, kind)}), file, **how)
    return file.getvalue()


def _nested() -> bytes:
    file = io.BytesIO()
    parquet.write_table(pa.table({"doc": pa.array([{"text": text, "n": 1} for text in WORDS])}), file)
    return file.getvalue()


def table_of_bytes(*bad: bytes) -> bytes:
    """Strings some of which are not UTF-8, as a writer that looks at nothing makes them."""
    raw = pa.array([*map(str.encode, WORDS[:20]), *bad, *map(str.encode, WORDS[20:])], pa.binary())
    return table(pa.string(), pa.Array.from_buffers(pa.string(), len(raw), raw.buffers()))


def _zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("a.txt", PLAIN)
    return file.getvalue()


def _zstd(data: bytes) -> bytes:
    own = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    packed: bytes = import_module(own).compress(data)
    return packed


def _plain(file: str, data: bytes | Path, text: str, loss: str = "") -> Case:
    return Case(file, data, [text] if text else [], loss, plain=True)


CSV: Final = "id,text\n" + "".join(f'{n},"{text}"\n' for n, text in enumerate(WORDS))
TSV: Final = "id\ttext\n" + "".join(f"{n}\t{text}\n" for n, text in enumerate(WORDS))
TWICE: Final = [*WORDS, *WORDS]
GZIPPED: Final = gzip.compress(lines())
LATIN: Final = '{"text": "caf\udce9"}'
REPEATED: Final = [f"{n} {' '.join(WORDS[:30])}" for n in range(6_800)]
"""Long texts that differ in a number: packed, Parquet has far less than a hundredth of them."""
WITH_SO: Final = [*WORDS[:20], "So.", *WORDS[20:]]
BAD: Final = "row 21, not valid JSON"
"""What is told of the record behind the twentieth."""

CASES: Final[dict[str, Case]] = {
    # JSON: lines, and one array
    "plain json lines": Case("a.jsonl", lines(), WORDS),
    "lone surrogate": Case("a.jsonl", lines('{"text": "\\ud83d"}'), WORDS, "1 record, the first: row 21, not UTF-8"),
    "byte of Latin-1": Case("a.jsonl", lines(LATIN), WORDS, "1 record, the first: row 21"),
    "byte of zero": Case("a.jsonl", lines('{"text": "a\0"}'), WORDS, BAD),
    "line cut in half": Case("a.jsonl", lines('{"text": "half'), WORDS, BAD),
    "number for a text": Case("a.jsonl", lines('{"text": 5}'), WORDS, "row 21, no text in the column 'text'"),
    "no text at all": Case("a.jsonl", lines('{"n": 5}', '{"n": 6}'), WORDS, "2 records, the first: row 21, no column"),
    "null and empty": Case("a.jsonl", lines('{"text": null}', '{"text": ""}', ""), WORDS),
    "no number": Case("a.jsonl", lines('{"text": "So.", "score": NaN}'), WITH_SO),
    "no number in an array": Case("a.json", array('{"text": "So.", "n": -Infinity}'), WITH_SO),
    "mark of UTF-8": Case("a.jsonl", b"\xef\xbb\xbf" + lines(), WORDS),
    "UTF-16 of Notepad": Case("a.jsonl", lines().decode().encode("utf-16"), WORDS),
    "UTF-16, big end": Case("a.jsonl", b"\xfe\xff" + lines().decode().encode("utf-16-be"), WORDS),
    "large file of UTF-16": Case("a.jsonl", "\n".join(json.dumps({"text": t}) for t in LONG).encode("utf-16"), LONG),
    "ends of lines of Windows": Case("a.jsonl", lines().replace(b"\n", b"\r\n"), WORDS),
    "head of comments": Case("a.jsonl", b"# not a record\n" * 30 + lines(), WORDS, "30 records, the first: row 1"),
    "nothing but comments": Case("a.jsonl", b"# not a record\n" * 30, [], "a.jsonl"),
    "another column": Case("a.jsonl", "\n".join(f'{{"body": {row}}}' for row in ROWS).encode(), [], "a.jsonl"),
    "one array": Case("a.json", json.dumps([json.loads(row) for row in ROWS], indent=2).encode(), WORDS),
    "array with a number": Case("a.json", b"[1," + array()[1:], WORDS, "row 1, no column"),
    "array cut in half": Case("a.json", array()[:-1], WORDS[:-1], "the rest of a.json"),
    "array with a broken record": Case("a.json", array('{"text": oops}'), WORDS, BAD),
    "array with Latin-1": Case("a.json", array(LATIN), WORDS, "row 21"),
    "large array in lines": Case("a.jsonl", json.dumps([{"text": text} for text in LONG]).encode(), LONG),
    # what text is: nested, lists, chats
    "nested": Case("a.jsonl", "\n".join(f'{{"doc": {row}}}' for row in ROWS).encode(), WORDS, column="doc.text"),
    "chat": Case("a.jsonl", "\n".join(json.dumps({"messages": c}) for c in CHATS).encode(), CHATTED, column="messages"),
    "chat with a call of a tool": Case(
        "a.jsonl",
        "\n".join(json.dumps({"messages": [*c, {"role": "assistant", "content": None}]}) for c in CHATS).encode(),
        CHATTED,
        column="messages",
    ),
    "list of texts": Case(
        "a.jsonl",
        "\n".join(json.dumps({"text": ["One.", text]}) for text in WORDS).encode(),
        [f"One.\n\n{text}" for text in WORDS],
    ),
    # packed
    "gzip of two members": Case("a.jsonl.gz", GZIPPED * 2, TWICE),
    "gzip cut in half": Case("a.jsonl.gz", GZIPPED[: len(GZIPPED) - 9], WORDS, "the rest of a.jsonl.gz"),
    "gzip with a mark": Case("a.jsonl.gz", gzip.compress(b"\xef\xbb\xbf" + lines()), WORDS),
    "zstd of two frames": Case("a.jsonl.zst", _zstd(lines()) * 2, TWICE),
    "xz": Case("a.jsonl.xz", lzma.compress(lines()), WORDS),
    "bz2 in two streams": Case("a.jsonl.bz2", bz2.compress(lines()) * 2, TWICE),
    "text for a gzip": Case("a.jsonl.gz", lines(), [], "a.jsonl.gz"),
    "zip": _plain("a.zip", _zipped(), "", "a.zip"),
    # CSV and TSV
    "csv": Case("a.csv", CSV.encode(), WORDS),
    "csv with a mark": Case("a.csv", b"\xef\xbb\xbf" + CSV.encode(), WORDS),
    "csv of UTF-16": Case("a.csv", CSV.encode("utf-16"), WORDS),
    "ragged row": Case("a.csv", (CSV + "7,a,b\n").encode(), WORDS, "row 601, 3 columns in place of 2"),
    "quoted lines": Case("a.csv", (CSV + '8,"two\nlines"\n').encode(), [*WORDS, "two\nlines"]),
    "quote without an end": Case("a.csv", (CSV + '9,"open\n').encode(), WORDS, "not a row of CSV"),
    "quote in the middle": Case(
        "a.csv",
        CSV.replace('\n20,"', "\n20,").encode(),
        WORDS[:20] + WORDS[21:],
        "1 record, the first: row 21, not a row of CSV (a quote without an end)",
    ),
    "csv with Latin-1": Case("a.csv", CSV.encode() + b"9,caf\xe9\n", WORDS, "row 601, not UTF-8"),
    "tsv": Case("a.tsv", TSV.encode(), WORDS),
    "tsv with a quote": Case("a.tsv", (TSV + '7\t"So\n8\tit" ends\n').encode(), [*WORDS, '"So', 'it" ends']),
    "tsv with a tab too many": Case("a.tsv", (TSV + "7\ta\tb\n").encode(), WORDS, "row 601, 3 columns"),
    # Parquet
    "large strings": Case("a.parquet", table(pa.large_string(), WORDS), WORDS),
    "string view": Case("a.parquet", table(pa.string_view(), WORDS), WORDS),
    "dictionary": Case("a.parquet", table(pa.dictionary(pa.int32(), pa.string()), WORDS), WORDS),
    "list column": Case(
        "a.parquet", table(pa.list_(pa.string()), [["One.", t] for t in WORDS]), [f"One.\n\n{t}" for t in WORDS]
    ),
    "chat in Parquet": Case("a.parquet", table(None, CHATS), CHATTED),
    "nested in Parquet": Case("a.parquet", _nested(), WORDS, column="doc.text"),
    "bytes in the place of text": Case("a.parquet", table_of_bytes(b"caf\xe9"), WORDS, "row 21, not UTF-8"),
    "numbers in the place of text": Case("a.parquet", table(pa.int64(), range(600)), [], "a.parquet"),
    "long texts nearly alike": Case("a.parquet", table(pa.string(), REPEATED, compression="zstd"), REPEATED),
    # plain text
    "plain text": _plain("a.txt", PLAIN.encode(), PLAIN),
    "plain text with a mark": _plain("a.txt", b"\xef\xbb\xbf" + PLAIN.encode(), PLAIN),
    "plain text of Notepad": _plain("a.txt", PLAIN.replace("\n", "\r\n").encode("utf-16"), PLAIN),
    "large text": _plain("a.txt", LONG_PLAIN.encode(), LONG_PLAIN),
    "large text of UTF-16": _plain("a.txt", LONG_PLAIN.encode("utf-16"), LONG_PLAIN),
    "one long line": _plain("a.txt", " ".join(LONG).encode(), " ".join(LONG)),
    "Latin-1 early": _plain("a.txt", b"Caf\xe9.\n\n" + PLAIN.encode(), PLAIN, "1 record, the first: line 1, not UTF-8"),
    "Latin-1 late": _plain("a.txt", PLAIN.encode() + b"\nCaf\xe9.\n", PLAIN, "the first: line 720, not UTF-8"),
    "Latin-1 in a large text": _plain(
        "a.txt",
        LONG_PLAIN.encode() + b"\n\nCaf\xe9.\n",
        LONG_PLAIN,
        f"the line at byte {len(LONG_PLAIN) + 2:,}, not UTF-8",
    ),
    "zero in a text": _plain("a.txt", b"\0\n\n" + PLAIN.encode(), PLAIN, "1 record, the first: line 1"),
    "all of Latin-1": _plain("a.txt", "Ein Gefühl wäre schön für später.\n".encode("latin-1") * 900, "", "a.txt"),
    "picture": _plain("a.txt", bytes(range(256)) * 300, "", "a.txt"),
    # no files
    "empty file": _plain("a.txt", b"", ""),
    "pipe": _plain("a.txt", FIFO, ""),
    "link in a circle": _plain("a.txt", Path("a.txt"), "", "a.txt"),
    "link to nothing": _plain("a.txt", Path("nowhere"), "", "a.txt"),
}
if sys.platform == "win32":
    CASES = {name: case for name, case in CASES.items() if case.data is not FIFO and not isinstance(case.data, Path)}
