"""Where the bytes of a shard lie: at its origin, or in a file that the engine or this reader has fetched."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from core.reading.desk import Desk
from core.reading.room import DiskRoom
from core.system.atomic_files import make_directory
from core.text.sources.indexed import IndexedShards


class Copies(Protocol):
    """Says which shard to read next, and where."""

    def pick(self, wanted: Sequence[int]) -> int:
        """One of the shards that are wanted, which are in order of preference."""

    def fetch(self, shard: int, look: Callable[[], None]) -> Path | None:
        """A file with the shard's bytes; None: the source is read itself.

        Args:
            shard: The one that was picked last.
            look: Called now and then; what it raises ends it.

        Raises:
            SourceStalled: it cannot be had now.
            ShardUnreadable: it cannot be had at all.
        """

    def done(self, shard: int) -> None:
        """A shard is read to its end, or given up: its file may go."""


class AtOrigin:
    """Shards that lie where the manifest says, and nowhere else."""

    def pick(self, wanted: Sequence[int]) -> int:
        """The first of the shards that are wanted."""
        return wanted[0]

    def fetch(self, shard: int, look: Callable[[], None]) -> None:
        """There is no file of a shard of its own."""

    def done(self, shard: int) -> None:
        """Nothing is kept, so nothing goes."""


class SharedCopies:
    """Shards of an index, which members have from one another as far as they can (S000, appendix H).

    Args:
        source: The source's place in the manifest.
        shards: Its shards.
        desk: The engine's.
        folder: Where files of shards from an origin lie until they are read.
        room: What the reader's files take of the disk.
    """

    def __init__(self, source: int, shards: IndexedShards, desk: Desk, folder: Path, room: DiskRoom) -> None:
        self._source = source
        self._shards = shards
        self._desk = desk
        self._folder = folder
        self._room = room
        self._lent: dict[int, Path] = {}
        """Files of the engine, which are not ours to delete."""
        self._reads: Path | None = None
        """Our own file that is read, or comes: one at a time."""

    def pick(self, wanted: Sequence[int]) -> int:
        """One whose file is there already, else the one that the engine names."""
        for shard in wanted:
            if self._file(shard) is not None:
                return shard
        shard, path = self._desk.next(self._source, wanted)
        if path:
            self._lent[shard] = Path(path)
        return shard

    def fetch(self, shard: int, look: Callable[[], None]) -> Path:
        """The shard's file, brought from an origin where no peer has it (`Copies.fetch`)."""
        found, path = self._file(shard), self._own(shard)
        if found is not None and found != path:
            return found
        if self._reads not in {None, path}:
            self._room.rest(self._reads)
        self._reads = path
        with self._room.writing():
            if found is None:
                self._bring(shard, path, look)
            else:
                self._room.use(path, self._shards.size_bytes(shard))
        return path

    def done(self, shard: int) -> None:
        """The shard's file goes, where it is our own."""
        self._lent.pop(shard, None)
        self._room.delete(self._own(shard))
        self._room.delete(_part(self._own(shard)))  # others have sent it meanwhile

    def _bring(self, shard: int, path: Path, look: Callable[[], None]) -> None:
        make_directory(self._folder)
        part = _part(path)
        self._room.use(part, self._shards.size_bytes(shard))
        try:
            self._shards.fetch(shard, path, look)
        except BaseException:
            self._room.rest(part)
            raise
        self._room.moved(part, path)
        self._desk.kept(self._source, shard, str(path))

    def _file(self, shard: int) -> Path | None:
        found = self._lent.get(shard) or self._own(shard)
        if found.exists():
            return found
        self._lent.pop(shard, None)
        return None

    def _own(self, shard: int) -> Path:
        return self._folder / f"{self._source}-{shard}.shard"


def _part(path: Path) -> Path:
    """Where the beginning of a shard's file lies while it comes."""
    return path.with_suffix(".part")
