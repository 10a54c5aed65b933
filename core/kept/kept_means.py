"""The means of the last rounds on disk, for peers that missed them (docs/protocols/epoch.md, "Catching up").

A file is called by its root digest, and nothing is synced: what a power cut has torn has another digest, and is deleted
when the folder is opened.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Self

from core.averaging.kept_mean import MeanForm
from core.base.arrays import np
from core.base.content import CHUNK_BYTES, digest, root_digest
from core.base.problems import Damaged, Problem, RemoteProblem
from core.kept.state_files import MEAN_SUFFIX, ROOM, DiskStateFile
from core.system.atomic_files import PRIVATE_FILE, make_directory

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LOG = logging.getLogger(__name__)


class KeptMeans:
    """A folder of means, each named by its digest; the engine alone writes in it.

    Args:
        folder: Made when it is needed.
        form: How a mean lies in a file.
    """

    def __init__(self, folder: Path, form: MeanForm) -> None:
        self._folder = folder
        self._form = form
        self._unkept: Counter[str] = Counter()
        """How often a mean was not kept, by the reason."""

    def keep(self, mean: NDArray[np.float32]) -> tuple[bytes, DiskStateFile | None]:
        """Write down the mean of a round.

        Args:
            mean: Shape (numel,).

        Returns:
            Its root digest, and the file for others; no digest where it cannot be kept without changing its bits, the
            same on all members of the round, and no file where the disk does not take it.
        """
        torn = self._folder / f"{os.getpid()}.part"
        digests: list[bytes] = []
        try:
            with _Output(torn, bytes_max=self._form.bytes_max) as output:
                for chunk in _chunks(self._form.pieces(mean)):
                    digests.append(digest(chunk))
                    output.write(chunk)
        except ValueError as error:
            self._not_kept(str(error))
            torn.unlink(missing_ok=True)
            return b"", None
        root = root_digest(digests)
        if output.failure:
            self._not_kept(output.failure)
            return root, None
        try:
            torn.replace(self._path(root))
            return root, DiskStateFile(self._path(root), root, chunks=b"".join(digests))
        except OSError as error:
            self._not_kept(error.strerror or str(error))
        except Damaged as error:
            self._not_kept(error.message)
        return root, None

    def only(self, digests: Sequence[bytes], *, bytes_max: int) -> None:
        """Keep of these means those that are here, as many as have room, and delete all other files.

        Args:
            digests: Root digests, the most important first.
            bytes_max: Room for all of them together.
        """
        kept: set[Path] = set()
        for path in map(self._path, digests):
            bytes_max -= path.stat().st_size if path.exists() else 0
            kept |= {path} if bytes_max >= 0 else set()
        for path in self._folder.iterdir() if self._folder.is_dir() else ():
            if path not in kept:
                with contextlib.suppress(OSError):  # Windows keeps what somebody reads; the next time tries again
                    path.unlink()

    def whole(self, digests: Sequence[bytes]) -> list[DiskStateFile]:
        """Read those of these means that are here and have not changed on the disk, in their order."""
        found: list[DiskStateFile] = []
        for root in digests:
            with contextlib.suppress(Damaged):
                found.append(DiskStateFile(self._path(root), root))
        return found

    def read(self, path: Path, out: NDArray[np.float32]) -> None:
        """Write the mean in a file to `out`, shape (numel,).

        Raises:
            Problem: it cannot be read, or is not a mean of this collaboration.
        """
        try:
            with path.open("rb") as file:
                self._form.read(file.read, out)
        except (OSError, RemoteProblem) as error:
            raise Problem("The mean of a round cannot be read: {error}.", error) from error

    def _not_kept(self, reason: str) -> None:
        """Say so the first time, and then each time that it has happened twice as often for this reason."""
        self._unkept[reason] += 1
        times = self._unkept[reason]
        if times.bit_count() == 1:
            often = "" if times == 1 else f" ({times} times so far)"
            _LOG.warning("A round's mean is not kept for others: %s%s.", reason.rstrip("."), often)

    def _path(self, root: bytes) -> Path:
        return self._folder / f"{root.hex()}{MEAN_SUFFIX}"


class _Output:
    """A file that takes bytes until the disk refuses them.

    Args:
        path: Where it is made.
        bytes_max: A disk with less than `ROOM` times these bytes left refuses them: the next state needs it.
    """

    def __init__(self, path: Path, *, bytes_max: int) -> None:
        self._path = path
        self._bytes_max = bytes_max
        self._file: FileIO | None = None
        self.failure = ""
        """Why the disk has refused something; empty: it has not."""

    def __enter__(self) -> Self:
        try:
            make_directory(self._path.parent)
            if shutil.disk_usage(self._path.parent).free >= ROOM * self._bytes_max:
                self._file = FileIO(self._path, "w", opener=_private)
            else:
                self._fail("the disk is nearly full")
        except OSError as error:
            self._fail(error.strerror or str(error))
        except Problem as error:
            self._fail(error.message)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, data: bytes) -> None:
        """Append these bytes, unless the disk has refused any before."""
        rest = memoryview(data)
        try:
            while rest and self._file is not None and not self.failure:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            self._fail(error.strerror or str(error))

    def _fail(self, reason: str) -> None:
        self.failure = reason
        with contextlib.suppress(OSError):
            self._path.unlink()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, PRIVATE_FILE)


def _chunks(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same bytes in chunks of 256 KiB, the last one shorter."""
    held = bytearray()
    for piece in pieces:
        held += piece
        while len(held) >= CHUNK_BYTES:
            yield bytes(held[:CHUNK_BYTES])
            del held[:CHUNK_BYTES]
    if held:
        yield bytes(held)
