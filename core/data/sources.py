"""Text as a stream of documents, by way of the `datasets` library.

A document is a list of sentences that stand in order.  Each document is for training or held out, and which of
the two follows from its own text, so that all peers agree without asking each other.

Two sources: "python-docs", the English documentation that ships with every Python interpreter, and any folder of text
files (given by its absolute path).
"""

import ast
import hashlib
import os
import re
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Final, Literal

from core.base.problems import BadInput

Part = Literal["train", "held-out"]
Document = list[str]

PYTHON_DOCS: Final = "python-docs"
DOCUMENT_CHARS_MAX: Final = 4000
"""A longer text is cut into several documents, at a paragraph."""
FILES_MAX: Final = 100_000
FILE_BYTES_MAX: Final = 64 * 1024 * 1024
"""Of a longer file only the beginning is read."""
LINE_CHARS_MAX: Final = 20_000
HELD_OUT_PER_MILLE: Final = 40

_SKIPPED_FOLDERS: Final = frozenset({"test", "tests", "idle_test", "site-packages", "dist-packages", "__pycache__"})
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+")
_PARAGRAPH_END: Final = re.compile(r"\n\s*\n")
_BINARY_SUFFIXES: Final = frozenset({".gz", ".zip", ".xz", ".bz2", ".zst", ".pdf", ".png", ".jpg", ".jpeg", ".pyc"})


def documents(source: str, *, part: Part, seed: int | None = None) -> Iterator[Document]:
    """One pass over the documents of one part of a source; see `parted`."""
    return (document for found, document in parted(source, seed=seed) if found == part)


def endless(source: str, random: Random) -> Iterator[Document]:
    """The documents for training, pass after pass, with the files of each pass in another order.

    Raises:
        BadInput: there are none, or they cannot be read.
    """
    while True:
        document: Document | None = None
        for document in documents(source, part="train", seed=random.getrandbits(63)):
            yield document
        if document is None:
            raise BadInput("There is too little text to learn from.", hint="Give more text.")


def parted(source: str, *, seed: int | None = None) -> Iterator[tuple[Part, Document]]:
    """One pass over all documents of a source, each with the part that it belongs to.

    Args:
        source: "python-docs" or the absolute path of a folder.
        seed: Order of the files; by name when there is none.

    Raises:
        BadInput: there is no text, or it cannot be read.
    """
    paths = [str(path) for path in shards(source)]
    if seed is not None:
        Random(seed).shuffle(paths)  # noqa: S311 - no secret
    for row in _dataset(paths, docstrings=source == PYTHON_DOCS):
        document: Document = row["sentences"]
        yield "held-out" if is_held_out(document) else "train", document


def is_held_out(document: Sequence[str]) -> bool:
    """Whether a document is kept for measuring: 4 % of them, chosen by the hash of their text."""
    digest = hashlib.blake2b("\n".join(document).encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % 1000 < HELD_OUT_PER_MILLE


def shards(source: str) -> list[Path]:
    """The files of a source, sorted by name.

    Raises:
        BadInput: the folder is missing, unreadable, or holds no text.
    """
    if source == PYTHON_DOCS:
        return _python_files(Path(sysconfig.get_paths()["stdlib"]))
    return _text_files(Path(source))


def read_documents(paths: Iterable[str], *, docstrings: bool) -> Iterator[dict[str, Document]]:
    """The documents of some files as rows of a data set; files that turn out unreadable are passed over.

    Args:
        paths: The files.
        docstrings: They are Python files, of which only the documentation is read.
    """
    for path in map(Path, paths):
        try:
            for document in _cut(_docstrings(path) if docstrings else _paragraphs(path)):
                yield {"sentences": document}
        except (OSError, SyntaxError, ValueError, RecursionError):
            continue


def offline(cache: Path) -> None:
    """Keep `datasets` and its companions off the network, silent, and out of the person's own folders.

    To be called before they are imported.

    Args:
        cache: Where they may leave files.
    """
    os.environ["HF_HOME"] = str(cache)
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY"):
        os.environ[name] = "1"
    os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


def _dataset(paths: list[str], *, docstrings: bool) -> Iterable[dict[str, Document]]:
    from datasets import IterableDataset  # noqa: PLC0415 - takes a second to import

    arguments = {"paths": paths, "docstrings": docstrings}
    rows: Iterable[dict[str, Document]] = IterableDataset.from_generator(read_documents, gen_kwargs=arguments)
    return rows


def _python_files(root: Path) -> list[Path]:
    found = [path for path in _walk(root) if path.suffix == ".py"]
    if not found:
        raise BadInput(
            "This Python has no documentation to learn from.", hint="Give a folder of text files with --text."
        )
    return found


def _text_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise BadInput(f"There is no folder {folder}.", hint="Give the path of a folder with text files.")
    try:
        os.scandir(folder).close()
    except OSError as error:
        raise BadInput(
            f"The folder {folder} cannot be read: {error.strerror}.", hint="Give yourself the right to read it."
        ) from error
    found = [path for path in _walk(folder) if _looks_like_text(path)]
    if not found:
        raise BadInput(
            f"The folder {folder} holds no text files that can be read.", hint="Put UTF-8 text files (.txt) into it."
        )
    return found


def _walk(root: Path) -> list[Path]:
    found: list[Path] = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in _SKIPPED_FOLDERS and not f.startswith("."))
        found.extend(Path(folder) / name for name in sorted(names) if not name.startswith("."))
        if len(found) >= FILES_MAX:
            break
    return found[:FILES_MAX]


def _looks_like_text(path: Path) -> bool:
    if path.suffix.lower() in _BINARY_SUFFIXES:
        return False
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError:
        return False
    if not head.strip() or b"\0" in head:
        return False
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start >= len(head) - 4
    return True


def _docstrings(path: Path) -> Iterator[str]:
    """Paragraphs of the docstrings in a Python file, or of the manual's topics; the file is parsed, never run."""
    tree = ast.parse(path.read_text("utf-8", errors="replace"))
    if path.name == "topics.py" and path.parent.name == "pydoc_data":
        strings = (n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str))
        for text in strings:
            yield from _PARAGRAPH_END.split(text)
        return
    waiting: list[ast.stmt | ast.Module] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _PARAGRAPH_END.split(ast.get_docstring(node) or "")
        if isinstance(node, ast.Module | ast.ClassDef | ast.If | ast.Try):
            waiting.extend(reversed(node.body))


def _paragraphs(path: Path) -> Iterator[str]:
    """Paragraphs of a text file: what stands between empty lines, or 20,000 characters where there are none."""
    lines: list[str] = []
    chars = read = 0
    with path.open(encoding="utf-8", errors="replace") as file:
        while read < FILE_BYTES_MAX and (line := file.readline(LINE_CHARS_MAX)):
            read += len(line)
            if not line.strip() or chars > LINE_CHARS_MAX:
                yield "".join(lines)
                lines, chars = [], 0
            lines.append(line)
            chars += len(line)
    yield "".join(lines)


def _cut(paragraphs: Iterable[str]) -> Iterator[Document]:
    document: Document = []
    chars = 0
    for paragraph in paragraphs:
        sentences = [" ".join(s.split()) for s in _SENTENCE_END.split(paragraph)]
        document.extend(s for s in sentences if s)
        chars += len(paragraph)
        if chars >= DOCUMENT_CHARS_MAX:
            yield document
            document, chars = [], 0
    if document:
        yield document
