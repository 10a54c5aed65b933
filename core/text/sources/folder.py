"""A folder or file of this computer, where the person has named it, or the folder that it is in."""

import contextlib
import errno
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from core.api.data_state import DataCode
from core.base.data_source import DataSource
from core.base.problems import BadInput
from core.text.sources.file_shards import FileShards, FoundFiles, StoredFile, read_file
from core.text.sources.images import is_classes, is_images
from core.text.sources.records import MARK, MARKS
from core.text.sources.source import BLOCK_BYTES, Access, LeftOut, SourceStalled
from core.text.sources.unpack import CODECS
from core.text.sources.versions import SeenVersions, Version

FILES_MAX: Final = 200_000
"""Number of files of a folder that are read, in the order of their names; that there are more is said."""
SKIPPED_FOLDERS: Final = frozenset({"test", "tests", "idle_test", "site-packages", "dist-packages", "__pycache__"})
_HIDDEN: Final = frozenset({"desktop.ini", "thumbs.db"})
"""Files that Windows makes in folders and shows to nobody."""
_BINARY: Final = frozenset({".zip", ".7z", ".pdf", ".png", ".jpg", ".jpeg", ".gif", ".pyc", ".docx", ".odt", ".epub"})
_NO_TEXT: Final = frozenset({*CODECS, ".parquet", ".pq"})
"""Files that hold text, and do not look like it."""
_TABLES: Final = frozenset({".jsonl", ".ndjson", ".json", ".csv", ".tsv"})
"""Files that hold text, whatever they look like: each of their records is judged."""
STRANGE_MAX: Final = 0.1
"""Share of the first letters of a text that may be invalid; each of its lines is judged when it is read."""
_REASONS: Final = {errno.ELOOP: DataCode.LINK, errno.ENOENT: DataCode.MISSING}
"""Why a file is left out, by the system's error; any other one is a right that this computer lacks."""


def open_place(source: DataSource, access: Access) -> FileShards:
    """The files of a folder, or one file (`core.text.sources.source.PLACES`).

    Raises:
        BadInput: it is not what the person has named.
    """
    return FileShards(Folder(named_path(source.address, access)), source, access)


def named_path(address: str, access: Access) -> Path:
    """The path of an address, if the person has named it or the folder that it is in.

    Raises:
        BadInput: nobody has.
    """
    path = Path(address)
    if not path.is_absolute():
        raise BadInput("{address} is not the whole path of a folder.", address, hint="Write it from the root on.")
    if access.folder is None or not _within(path, access.folder):
        raise BadInput("{address} is not a folder that you have named.", address, hint="Name it with --text.")
    return path


class Folder:
    """Files below a folder, or one file (`FilePlace`).

    Args:
        root: The folder or file.
        suffix: Only files whose names end so, and not a word of others; empty: all that look like text.
    """

    network = False

    def __init__(self, root: Path, *, suffix: str = "") -> None:
        self._root = root
        self._suffix = suffix
        self._versions = SeenVersions()

    def found(self) -> FoundFiles:
        """Its files, sorted; those that hold no text are told (`FilePlace.found`)."""
        files: list[StoredFile] = []
        left_out: list[LeftOut] = []
        for path in self._paths():
            name = path.name if path == self._root else path.relative_to(self._root).as_posix()
            if len(files) >= FILES_MAX:
                left_out.append(LeftOut(name, DataCode.TOO_MANY))
                break
            try:
                size = path.stat().st_size
                reason = self._reason(path) if size or path.is_symlink() else None
                ranges = reason is not None or size < BLOCK_BYTES or not _in_one_piece(path)
            except OSError as error:
                size, ranges, reason = 0, True, _REASONS.get(error.errno or 0, DataCode.REFUSED)
            if reason is not None:
                left_out.append(LeftOut(name, reason))
            elif size:
                self._versions.check(name, _version(path), name=name)
                files.append(StoredFile(name, size, ranges))
        return FoundFiles(files, left_out)

    def holds_text(self) -> bool:
        """Whether any of its files looks like text; the others are not looked at."""
        for path in self._paths():
            with contextlib.suppress(OSError):
                if path.stat().st_size and self._reason(path) is None:
                    return True
        return False

    def written(self) -> list[tuple[str, int, int]]:
        """Path, size and time of the last change of each file, to be compared with what they are later."""
        found: list[tuple[str, int, int]] = []
        for path in self._paths():
            with contextlib.suppress(OSError):  # it is gone since, or may not be read
                stat = path.stat()
                found.append((str(path), stat.st_size, stat.st_mtime_ns))
        return found

    def read(self, name: str, start: int, end: int | None) -> Iterator[bytes]:
        """The bytes of a range of a file (`FilePlace.read`)."""
        path = self._root if self._root.is_file() else self._root / name
        for chunk in read_file(path, start, end):
            self._versions.check(name, _version(path), name=name)
            yield chunk

    def _paths(self) -> Iterator[Path]:
        if self._root.is_file():
            yield self._root
            return
        try:
            os.scandir(self._root).close()
        except OSError as error:
            refused = isinstance(error, PermissionError)
            code = DataCode.REFUSED if refused else DataCode.MISSING
            raise SourceStalled(code, name=str(self._root), host="", status=0) from error
        for folder, folders, names in os.walk(self._root):
            folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS and not f.startswith("."))
            seen = (name for name in sorted(names) if not name.startswith(".") and name.lower() not in _HIDDEN)
            kept = (name for name in seen if name.endswith(self._suffix))
            linked = [name for name in folders if (Path(folder) / name).is_symlink()]
            yield from (Path(folder) / name for name in (*linked, *kept))

    def _reason(self, path: Path) -> DataCode | None:
        """Why a file is not read; None: it is."""
        if path.is_symlink() and (path.is_dir() or not _within(path, self._root)):
            return DataCode.LINK
        suffix = path.suffix.lower()
        if self._suffix or suffix in _NO_TEXT | _TABLES or is_images(path.name) or is_classes(path.name):
            return None
        if suffix in _BINARY:
            return DataCode.NO_TEXT
        with path.open("rb") as file:
            head = file.read(4096)
        return None if _looks_like_text(head) else DataCode.NO_TEXT


def _version(path: Path) -> Version:
    """What changes with a file's bytes; empty: it cannot be looked at, as reading it tells."""
    with suppress(OSError):
        found = path.stat()
        return (f"{found.st_size} {found.st_mtime_ns}",)
    return ("",)


def _in_one_piece(path: Path) -> bool:
    """Whether no part of a file can be read on its own: UTF-16, or one JSON array."""
    with path.open("rb") as file:
        head = file.read(4096)
    return head[:2] in MARKS or (path.suffix.lower() in _TABLES and head.removeprefix(MARK).lstrip()[:1] == b"[")


def _within(path: Path, root: Path) -> bool:
    """Whether a path leads, symbolic links and all, to what lies in a folder."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))  # Path.resolve raises at a circle


def _looks_like_text(head: bytes) -> bool:
    if head[:2] in MARKS:
        return True
    text = head.decode("utf-8", "replace")
    return text.count("\ufffd") + text.count("\0") <= STRANGE_MAX * len(text)
