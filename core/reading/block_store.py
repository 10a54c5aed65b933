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
from pathlib import Path
from typing import Any, Final, NamedTuple

from numpy.typing import NDArray

from core.reading.block_file import SEAL_BYTES, BlockFile, Seal, Shape, read_seal
from core.reading.room import DiskRoom
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
        shape: Shape of all rows.
        cutter: Digest of what decides about rows, beside the text.
        room: What the reader's files take of the disk.
    """

    def __init__(self, folder: Path, shape: Shape, cutter: bytes, room: DiskRoom) -> None:
        self._folder = folder
        self._shape = shape
        self._cutter = cutter[:NAME_BYTES].hex()
        self._room = room
        self._lock = threading.RLock()
        self._folders: dict[int, Path] = {}
        self._whole: set[BlockKey] = set()
        """Blocks that were whole; they may have gone since."""
        self._usual = 0
        """How large the next block will be, as far as one can tell: as large as the largest."""
        self._places: dict[BlockKey, int] = {}
        """Place of each block in its shard, for all blocks that were ever seen."""

    @property
    def stored_bytes(self) -> int:
        """What the reader's files take of the disk."""
        return self._room.taken_bytes

    def open_source(self, source: int, listing: bytes) -> None:
        """Find the blocks of a source that an earlier process left; those of another listing go.

        Args:
            source: Its place in the manifest.
            listing: Digest of its listing.

        Raises:
            SourceStalled: the folder cannot be written.
        """
        with self._lock, self._room.writing():
            name = f"{source}-{listing[:NAME_BYTES].hex()}-{self._cutter}"
            folder = self._folders[source] = self._folder / name
            make_directory(folder)
            for old in self._folder.glob(f"{source}-*"):
                if old != folder:
                    self._clear(old)
            self._whole = {key for key in self._whole if key.source != source}
            for path in folder.iterdir():
                if named := _NAME.match(path.name):
                    shard, block, first = map(int, named.groups())
                    key = BlockKey(source, shard, first)
                    self._whole.add(key)
                    self._places[key] = block
                    self._usual = max(self._usual, path.stat().st_size)

    def has(self, key: BlockKey) -> bool:
        """Whether there is a block, as far as one can tell without looking at it."""
        with self._lock:
            return key in self._whole and self._path(key, self._places[key]).exists()

    def find(self, key: BlockKey) -> Kept | None:
        """A whole block, which is in use from now on; None: there is none, or it is damaged and gone."""
        with self._lock:
            if not self.has(key):
                return None
            path, block = self._path(key, self._places[key]), self._places[key]
            try:
                self._room.use(path, path.stat().st_size)
                seal = read_seal(path, self._shape)
            except OSError:  # another source has needed the room
                seal = None
            if seal is None:
                self._room.delete(path)
                self._whole.discard(key)
                return None
            return Kept(path, seal, block)

    def begin(self, key: BlockKey, block: int) -> BlockFile:
        """Begin a block, which is in use from now on, where there is room for one as large as the largest.

        Args:
            key: Its name.
            block: Its place in the shard.

        Raises:
            SourceStalled: there is no room, or the file cannot be written.
        """
        with self._lock, self._room.writing():
            path = self._path(key, block)
            self._room.use(path, self._usual)
            self._places[key] = block
            make_directory(self._folders[key.source])
            return BlockFile(path, self._shape)

    def append(self, file: BlockFile, rows_RW: NDArray[Any]) -> None:  # noqa: N803 - named by its shape
        """Append rows to a block that was begun; where this raises the block is to be given up.

        Raises:
            SourceStalled: there is no room for them, or the file cannot be written.
        """
        size = file.size + len(rows_RW) * self._shape.row_bytes + SEAL_BYTES
        with self._lock:
            self._usual = max(self._usual, size)
        self._room.use(file.path, size)
        with self._room.writing():
            file.append(rows_RW)

    def finish(self, key: BlockKey, file: BlockFile, *, last: bool) -> None:
        """Seal a block.

        Raises:
            SourceStalled: the file cannot be written.
        """
        with self._lock, self._room.writing():
            file.seal(last=last)
            self._room.settle(file.path)
            self._whole.add(key)

    def give_up(self, file: BlockFile) -> None:
        """Delete a block that was begun."""
        file.give_up()
        self._room.delete(file.path)

    def drop(self, key: BlockKey) -> None:
        """All rows of a block were used up: it may go, where there is no room."""
        with self._lock:
            if key in self._whole:
                self._room.rest(self._path(key, self._places[key]))

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

    def _path(self, key: BlockKey, block: int) -> Path:
        return self._folders[key.source] / f"{key.shard}.{block}.{key.first}.npy"

    def _clear(self, folder: Path) -> None:
        for path in folder.glob("*.npy"):
            self._room.delete(path)
        with contextlib.suppress(OSError):  # whatever else is there was not ours
            folder.rmdir()
