"""Text in files of this computer, read by way of the `datasets` library: the port of `core.data.sources`.

Two sources: "python-docs", the English documentation that ships with every Python interpreter, and any folder of text
files, named by its absolute path.
"""

import os
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from core.base.problems import BadInput
from core.data.documents import LINE_CHARS_MAX, Document, docstring_paragraphs, documents_of, paragraphs_of

PYTHON_DOCS: Final = "python-docs"
FILES_MAX: Final = 100_000
"""Number of files of a folder that are looked at, in the order of their names."""
FILE_BYTES_MAX: Final = 64 * 1024 * 1024
"""Of a longer file only the beginning is read."""

_SKIPPED_FOLDERS: Final = frozenset({"test", "tests", "idle_test", "site-packages", "dist-packages", "__pycache__"})
_BINARY_SUFFIXES: Final = frozenset({".gz", ".zip", ".xz", ".bz2", ".zst", ".pdf", ".png", ".jpg", ".jpeg", ".pyc"})


class TextFiles:
    """The text of a folder, or the documentation that came with Python.

    Args:
        name: "python-docs" or the absolute path of a folder.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def shards(self) -> list[str]:
        """Paths of the files, sorted by name.

        Raises:
            BadInput: the folder is missing, unreadable, or holds no text.
        """
        if self._name == PYTHON_DOCS:
            return [str(path) for path in _python_files(Path(sysconfig.get_paths()["stdlib"]))]
        return [str(path) for path in _text_files(Path(self._name))]

    def read(self, shards: Sequence[str]) -> Iterator[Document]:
        """The documents of these files; one that turns out unreadable is passed over."""
        from datasets import IterableDataset  # noqa: PLC0415 - takes a second to import

        arguments = {"paths": list(shards), "docstrings": self._name == PYTHON_DOCS}
        rows: Iterable[dict[str, Document]] = IterableDataset.from_generator(read_rows, gen_kwargs=arguments)
        return (row["sentences"] for row in rows)


def read_rows(paths: Iterable[str], *, docstrings: bool) -> Iterator[dict[str, Document]]:
    """The documents of some files as rows of a data set; files that turn out unreadable are passed over.

    Args:
        paths: The files.
        docstrings: They are Python files, of which only the documentation is read.
    """
    for path in map(Path, paths):
        try:
            for document in documents_of(_docstrings(path) if docstrings else paragraphs_of(_lines(path))):
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
        paths = (Path(folder) / name for name in sorted(names) if not name.startswith("."))
        found.extend(path for path in paths if not path.is_symlink() or _is_within(path, root))
        if len(found) >= FILES_MAX:
            break
    return found[:FILES_MAX]


def _is_within(link: Path, root: Path) -> bool:
    """Whether a symbolic link leads to a file of the folder that the person named."""
    return link.resolve().is_relative_to(root.resolve())


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
    topics = path.name == "topics.py" and path.parent.name == "pydoc_data"
    return docstring_paragraphs(path.read_text("utf-8", errors="replace"), topics=topics)


def _lines(path: Path) -> Iterator[str]:
    """Lines of a text file, long ones in pieces, up to `FILE_BYTES_MAX` characters in all."""
    read = 0
    with path.open(encoding="utf-8", errors="replace") as file:
        while read < FILE_BYTES_MAX and (line := file.readline(LINE_CHARS_MAX)):
            read += len(line)
            yield line
