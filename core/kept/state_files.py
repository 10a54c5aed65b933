"""State files on disk: given to others chunk by chunk, and put together from the chunks of others."""

import errno
import os
import shutil
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from core.base.content import CHUNK_BYTES, DIGEST_BYTES, chunk_digests, digest, root_digest
from core.base.problems import Damaged, NoSpace, Problem
from core.system.atomic_files import make_directory, move_synced, problem_of, scarcity_of
from core.system.file_chunks import file_chunks

MEAN_SUFFIX: Final = ".mean"
STATE_SUFFIX: Final = ".safetensors"
ROOM: Final = 8
"""A copy takes at most the free space of the disk divided by this."""


class DiskStateFile:
    """A checkpoint that others may have.  The open file stays readable even after the worker has deleted it.

    Args:
        path: The checkpoint.
        promised: Its root digest as the worker named it; None: whatever it is.
        chunks: The digests of its chunks, one after the other, as the worker computed them from the very bytes that it
            wrote; empty: the file is read.  Each chunk is checked again by who gets it.

    Raises:
        Damaged: the file on disk is not what the worker wrote, or cannot be read.
        UserProblem: this computer lacks files or memory.
    """

    def __init__(self, path: Path, promised: bytes | None, *, chunks: bytes = b"") -> None:
        try:
            told = (chunks[at : at + DIGEST_BYTES] for at in range(0, len(chunks), DIGEST_BYTES))
            self.chunks: Sequence[bytes] = tuple(told) or tuple(chunk_digests(file_chunks(path)))
            self.size_bytes = path.stat().st_size
            self.digest = root_digest(self.chunks)
            whole = len(self.chunks) == -(-self.size_bytes // CHUNK_BYTES)
            if not whole or (promised is not None and self.digest != promised):
                raise Damaged("The checkpoint {name} is not what was written.", path.name, hint="Check the disk.")
            self._fd = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        except OSError as error:
            if lacking := scarcity_of(error):
                raise lacking from error
            why = error.strerror or error
            raise Damaged(
                "The checkpoint {name} cannot be read: {error}.", path.name, why, hint="Check the disk."
            ) from error
        weakref.finalize(self, os.close, self._fd)

    def read(self, index: int) -> bytes:
        """One chunk.

        Raises:
            Problem: the file cannot be read.
        """
        try:
            os.lseek(self._fd, index * CHUNK_BYTES, os.SEEK_SET)
            return os.read(self._fd, CHUNK_BYTES)
        except OSError as error:
            raise Problem("The checkpoint cannot be read: {error}.", error) from error


class DiskStateSink:
    """Puts a state together under `folder`; what was verified survives a break, even a power cut.

    Args:
        folder: A folder of its own; a partial file is named by its root digest.
        copies: What is put together are a backbone's copies: they take a part of the room that there is, begin anew
            after a break, and are synced by their owner, lest a large one of a stranger hold up what else it does.
        means: What is put together are means of rounds, several one after the other: the whole ones stay.
    """

    def __init__(self, folder: Path, *, copies: bool = False, means: bool = False) -> None:
        self._folder = folder
        self._copies = copies
        self._means = means
        self._path: Path | None = None
        self._final: Path | None = None
        self._fd = self._last = -1

    def begin(self, root: bytes, size_bytes: int, chunks: Sequence[bytes]) -> set[int]:
        """Make room on disk; returns the chunks that an earlier transfer left, checked again.

        Raises:
            NoSpace: the disk is full.
            UserProblem: the system does not allow it.
        """
        self.close()
        make_directory(self._folder)
        self._path = self._folder / f"{root.hex()}.part"
        self._final = self._place(root)
        here: set[int] = set()
        try:
            if self._copies:
                self._path.unlink(missing_ok=True)
            self._forget_others()
            if self._means and self._final.exists():
                self._final.replace(self._path)  # what is here already is checked, and not asked for again
            free = shutil.disk_usage(self._folder).free
            if self._copies and size_bytes > free // ROOM:
                raise NoSpace(
                    "A copy of the model has {size_bytes} bytes: that is too much of the room that is left.", size_bytes
                )
            if size_bytes > free and not self._path.exists():  # else each try costs a donor a chunk
                raise problem_of(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), self._path)
            self._last = len(chunks) - 1
            for i, chunk in enumerate(file_chunks(self._path) if self._path.exists() else ()):
                if i <= self._last and digest(chunk) == chunks[i]:
                    here.add(i)
                    size_bytes = i * CHUNK_BYTES + len(chunk) if i == self._last else size_bytes
            self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
            os.truncate(self._fd, size_bytes)
        except OSError as error:
            raise problem_of(error, self._path) from error
        return here

    def write(self, index: int, data: memoryview) -> None:
        """Keep one verified chunk.

        Raises:
            NoSpace: the disk is full.
            UserProblem: the system does not allow it.
        """
        assert self._path is not None
        try:
            os.lseek(self._fd, index * CHUNK_BYTES, os.SEEK_SET)
            written = 0
            while written < len(data):
                written += os.write(self._fd, data[written:])
            if index == self._last:  # the donor that told the file's length may have lied
                os.truncate(self._fd, index * CHUNK_BYTES + len(data))
        except OSError as error:
            raise problem_of(error, self._path) from error

    def finish(self) -> str:
        """Everything is here: make it durable under its final name and return the path.

        Raises:
            NoSpace: the disk is full.
            UserProblem: the system does not allow it.
        """
        assert self._path is not None
        assert self._final is not None
        try:
            self.close()
            if self._copies:
                self._path.replace(self._final)
            else:
                move_synced(self._path, self._final)
        except OSError as error:
            raise problem_of(error, self._final) from error
        return str(self._final)

    def close(self) -> None:
        """Close the partial file, which stays for the next try."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _place(self, root: bytes) -> Path:
        """Where the whole file is to lie."""
        return self._folder / f"{root.hex()}{MEAN_SUFFIX if self._means else STATE_SUFFIX}"

    def _forget_others(self) -> None:
        """States of earlier downloads are of no use to anybody."""
        for path in self._folder.iterdir():
            if path not in {self._path, self._final} and not (self._means and path.suffix == MEAN_SUFFIX):
                path.unlink(missing_ok=True)
