"""The reader's files within the room that the person gives to them, counted before they are written.

A file is in use, or may go.  Those that may go do so where room is needed, in this order: what other collaborations
left, the oldest first; then one's own, what was used up last first (`core.reading.block_store` says why).
"""

import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from core.api.data_state import DataCode
from core.base.problems import NoSpace, UserProblem
from core.reading.block_file import remove
from core.system.atomic_files import problem_of
from core.system.usage import on_disk
from core.text.sources.source import SourceStalled

_FILE: Final = re.compile(r"^(\d+\.\d+\.\d+\.npy|\d+-\d+\.(shard|part)|[0-9a-f]{64}(\.chunks|\.part)?)$")
"""What blocks, shards and parts of shards are called; whatever else lies in a folder stays, and counts for nothing."""
OWN_TROUBLE: Final = frozenset({DataCode.NO_SPACE, DataCode.UNWRITABLE})
"""Why a file of this computer cannot be written."""


class DiskRoom:
    """Keeps the reader's files within its room on the disk; it may be used from several threads.

    Args:
        bytes_max: All files together take no more.
        own: The folder in which the reader writes.
        others: Folders in which there is nothing but what may go.
    """

    def __init__(self, bytes_max: int, own: Path, others: Iterable[Path] = ()) -> None:
        self._bytes_max = bytes_max
        self._folder = own
        self._lock = threading.RLock()
        self._used: dict[Path, int] = {}
        self._idle = _sizes([own])
        """One's own files that may go, the last one first."""
        self._others = _sizes(others)
        """The oldest one goes first."""
        self._make_room(0)

    @property
    def taken_bytes(self) -> int:
        """The room that all files take, or were promised."""
        with self._lock:
            return sum(sum(sizes.values()) for sizes in (self._used, self._idle, self._others))

    def use(self, path: Path, size_bytes: int) -> None:
        """Note that a file is in use from now on, and how long it may become.

        Raises:
            SourceStalled: what is in use leaves no room for it; then it is not in use if it was not before.
        """
        with self._lock:
            is_new = path not in self._used
            before = self._used.setdefault(path, self._idle.pop(path, 0) or self._others.pop(path, 0))
            more = on_disk(size_bytes) - before
            if more > 0 and not self._make_room(more):
                if is_new:
                    self.rest(path)
                raise SourceStalled(DataCode.NO_SPACE, bytes=self.taken_bytes)
            self._used[path] = before + max(0, more)

    def moved(self, path: Path, to: Path) -> None:
        """A file in use has another name."""
        with self._lock:
            self._used[to] = self._used.pop(path)

    def settle(self, path: Path) -> None:
        """A file in use will not become longer than it is."""
        with self._lock:
            self._used[path] = on_disk(path.stat().st_size)

    def rest(self, path: Path) -> None:
        """A file is not in use any more: of one's own it is the next to go."""
        with self._lock:
            for sizes in (self._used, self._idle):
                sizes.pop(path, None)
            try:
                self._idle[path] = on_disk(path.stat().st_size)
            except OSError:  # it is not there
                return
            self._make_room(0)

    def delete(self, path: Path) -> None:
        """Delete a file; where the system does not allow that yet, as Windows while it is mapped, it may go later."""
        remove(path)
        self.rest(path)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Have what goes wrong with files of this computer hold up the source, in words.

        Raises:
            SourceStalled: a file could not be written; where the disk itself is full, all that may go is gone.
        """
        try:
            yield
        except (OSError, UserProblem) as error:
            problem = problem_of(error, self._folder) if isinstance(error, OSError) else error
            if isinstance(problem, NoSpace):
                with self._lock:
                    self._delete_first(self.taken_bytes)
                raise SourceStalled(DataCode.NO_SPACE, bytes=self.taken_bytes) from error
            cause = error if isinstance(error, OSError) else error.__cause__
            why = getattr(cause, "strerror", None) or str(cause or error)
            raise SourceStalled(DataCode.UNWRITABLE, name=str(self._folder), why=why) from error

    def _make_room(self, more: int) -> bool:
        """Delete what may go until a number of bytes fit; returns whether they do."""
        excess = self.taken_bytes + more - self._bytes_max
        return excess <= 0 or self._delete_first(excess) >= excess

    def _delete_first(self, wanted: int) -> int:
        """Delete what goes first, until a number of bytes are free; returns how many are."""
        freed = 0
        for sizes, paths in ((self._others, list(self._others)), (self._idle, reversed(list(self._idle)))):
            for path in paths:
                if freed >= wanted:
                    return freed
                if remove(path):
                    freed += sizes.pop(path)
        return freed


def _sizes(folders: Iterable[Path]) -> dict[Path, int]:
    """The room that each file of some folders takes, the oldest first."""
    found = []
    for folder in folders:
        for path in folder.rglob("*"):
            try:
                stat = path.stat()
            except OSError:  # it has just gone
                continue
            if _FILE.match(path.name):
                found.append((stat.st_mtime_ns, path, stat.st_size))
    return {path: on_disk(size) for _, path, size in sorted(found)}
