"""Blocks of rows on the disk: found again after a restart, within a limit, made again where they are damaged.

    blocks/LISTING-CUTTER/SHARD.BLOCK.FIRST.npy

LISTING is the digest of the source's listing, CUTTER that of what decides about rows: where either is another one, so
are the rows.  FIRST is the number of the block's first row in its shard.

Where there is no room, blocks go of which all rows were averaged, the one that was used up last first.  A pass reads
each shard once: what was just used up is not wanted again before the next pass, what was not used yet is wanted in this
one.  A cache for half of the blocks so gives half of the reads; were the least recently used to go first, it would give
15 % (and none where all passes have the same order): `tests/unit/reading/test_block_store.py`.
"""

import contextlib
import re
import threading
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from core.reading.block_file import HEADER_BYTES, SEAL_BYTES, BlockFile, Seal, Shape, read_seal, remove
from core.system.atomic_files import make_directory

NAME_BYTES: Final = 8
_NAME: Final = re.compile(r"^(\d{1,10})\.(\d{1,10})\.(\d{1,18})\.npy$")


class BlockKey(NamedTuple):
    """Names a block on this computer."""

    source: int
    shard: int
    first: int
    """Number of its first row."""


class Kept(NamedTuple):
    """A whole block on the disk."""

    path: Path
    seal: Seal
    block: int
    """Its place among the blocks of its shard."""


class BlockStore:
    """All blocks of a collaboration.  It may be used from several threads.

    Args:
        folder: Only this class writes there.
        shape: Of all rows.
        cutter: Digest of what decides about rows, beside the text.
        bytes_max: What blocks take of the disk, where those in use allow it.
    """

    def __init__(self, folder: Path, shape: Shape, cutter: bytes, *, bytes_max: int) -> None:
        self._folder = folder
        self._shape = shape
        self._cutter = cutter[:NAME_BYTES].hex()
        self._bytes_max = bytes_max
        self._lock = threading.RLock()
        self._folders: dict[int, Path] = {}
        self._sizes: OrderedDict[BlockKey, int] = OrderedDict()
        """Of all whole blocks, those that were used up last at the end."""
        self._in_use: set[BlockKey] = set()
        self._places: dict[BlockKey, int] = {}
        """Of each block that was ever seen its place in its shard."""

    @property
    def stored_bytes(self) -> int:
        """What blocks take of the disk."""
        with self._lock:
            return sum(self._sizes.values())

    def open_source(self, source: int, listing: bytes) -> None:
        """Find the blocks of a source that an earlier process left; those of another listing go.

        Args:
            source: Its place in the manifest.
            listing: Digest of its listing.

        Raises:
            NoSpace: the disk is full.
            UserProblem: the folder cannot be written.
        """
        with self._lock:
            name = f"{source}-{listing[:NAME_BYTES].hex()}-{self._cutter}"
            folder = self._folders[source] = self._folder / name
            make_directory(folder)
            for old in self._folder.glob(f"{source}-*"):
                if old != folder:
                    _clear(old)
            for key in [key for key in self._sizes if key.source == source]:
                del self._sizes[key]
            found = [(path.stat(), named) for path in folder.iterdir() if (named := _NAME.match(path.name))]
            for stat, named in sorted(found, key=lambda each: each[0].st_mtime_ns):
                shard, block, first = map(int, named.groups())
                key = BlockKey(source, shard, first)
                self._sizes[key] = stat.st_size
                self._places[key] = block
            self._make_room(0)

    def has(self, key: BlockKey) -> bool:
        """Whether there is a block, as far as one can tell without looking at it."""
        with self._lock:
            return key in self._sizes

    def find(self, key: BlockKey) -> Kept | None:
        """A whole block, which is in use from now on; None: there is none, or it is damaged and gone."""
        with self._lock:
            if key not in self._sizes:
                return None
            path, block = self._path(key, self._places[key]), self._places[key]
            seal = read_seal(path, self._shape, thorough=True)
            if seal is None:
                remove(path)
                del self._sizes[key]
                return None
            self._in_use.add(key)
            return Kept(path, seal, block)

    def begin(self, key: BlockKey, block: int) -> BlockFile:
        """Begin a block, which is in use from now on.

        Args:
            key: Its name.
            block: Its place in the shard.

        Raises:
            OSError: the disk is full, or the file cannot be written.
        """
        with self._lock:
            self._make_room(self._usual)
            self._in_use.add(key)
            self._places[key] = block
            make_directory(self._folders[key.source])
            return BlockFile(self._path(key, block), self._shape)

    def finish(self, key: BlockKey, file: BlockFile, *, last: bool) -> None:
        """Seal a block.

        Raises:
            OSError: the disk is full.
        """
        with self._lock:
            file.seal(last=last)
            self._sizes[key] = file.size + SEAL_BYTES
            self._make_room(0)

    def drop(self, key: BlockKey) -> None:
        """All rows of a block were used up: it may go, where there is no room."""
        with self._lock:
            self._in_use.discard(key)
            if key in self._sizes:
                self._sizes.move_to_end(key)
            self._make_room(0)

    def free(self) -> bool:
        """Delete all blocks that are not in use; returns whether there were any."""
        with self._lock:
            idle = [key for key in self._sizes if key not in self._in_use]
            for key in idle:
                self._delete(key)
            return bool(idle)

    def place(self, source: int, shard: int, row: int) -> tuple[int, int]:
        """The nearest block up to a row whose place in the shard is known.

        Returns:
            Its place, and its first row: (0, 0) where nothing is known.
        """
        with self._lock:
            known = [
                (place, key.first)
                for key, place in self._places.items()
                if key.source == source and key.shard == shard and key.first <= row
            ]
            return max(known, default=(0, 0))

    @property
    def _usual(self) -> int:
        """How large the next block will be, as far as one can tell: as large as the largest."""
        return max(self._sizes.values(), default=HEADER_BYTES)

    def _make_room(self, wanted: int) -> None:
        total = self.stored_bytes + wanted
        for key in self._going() if total > self._bytes_max else ():
            total -= self._sizes[key]
            self._delete(key)
            if total <= self._bytes_max:
                return

    def _going(self) -> Iterator[BlockKey]:
        """The blocks that may go, those that go first first."""
        return (key for key in reversed(list(self._sizes)) if key not in self._in_use)

    def _delete(self, key: BlockKey) -> None:
        if remove(self._path(key, self._places[key])):
            del self._sizes[key]

    def _path(self, key: BlockKey, block: int) -> Path:
        return self._folders[key.source] / f"{key.shard}.{block}.{key.first}.npy"


def _clear(folder: Path) -> None:
    for path in folder.glob("*.npy"):
        remove(path)
    with contextlib.suppress(OSError):  # whatever else is there was not ours
        folder.rmdir()
