"""The shards that lie on this computer: given to the reader as files, and to other peers chunk by chunk.

A shard is a file named by its digest, with the digests of its chunks in a file beside it; each chunk is compared with
its digest before it is sent, so that a disk that forgets makes nobody a liar.  Shards that an organiser seeds stay
where they are.  Nothing is synced: what a power cut leaves damaged is found, and got again.

The folder is that of all collaborations.  Shards of the others, and parts of shards that do not come now, are spare:
they are found again when they are wanted again, and the oldest goes first where room is needed.
"""

import re
import stat
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from core.base.bounds import remember
from core.base.content import CHUNK_BYTES, DIGEST_BYTES, chunk_digests, digest, root_digest
from core.base.problems import Damaged, Problem
from core.kept.state_files import DiskStateFile, DiskStateSink
from core.swarm.shards.names import Catalogue, ShardEntry
from core.system.atomic_files import make_directory, problem_of, read_bounded, write_atomic
from core.system.file_chunks import file_chunks
from core.system.usage import on_disk

CHUNKS_SUFFIX: Final = ".chunks"
COPY_SUFFIX: Final = ".copy"
OPEN_MAX: Final = 32
"""Number of shards whose files are open at a time."""
PARTS: Final = "incoming"
"""Folder of shards that are partly here, to go on with."""
PART_SUFFIX: Final = ".part"
_OWN: Final = re.compile(rf"^[0-9a-f]{{{2 * DIGEST_BYTES}}}({CHUNKS_SUFFIX}|{COPY_SUFFIX})?$")
"""What files of the store are called; whatever else lies in its folder, an organiser's shards perhaps, stays."""
CHUNKS_BYTES_MAX: Final = 2 * 1024 * 1024


class DiskShardFile(DiskStateFile):
    """A shard that others may have."""

    def read(self, index: int) -> bytes:
        """One chunk, as it should be.

        Raises:
            Problem: the file cannot be read, or its bytes are not the shard's.
        """
        data = super().read(index)
        if digest(data) != self.chunks[index]:
            raise Damaged("A shard is not what was written.", hint="Check the disk.")
        return data


class ShardSink(DiskStateSink):
    """Puts one shard together; what was checked survives a break.

    Args:
        folder: Folder of the store.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / PARTS)
        self._store = folder
        self._chunks = b""

    def __del__(self) -> None:
        """Each shard has a sink of its own: where a download failed, nobody else would close its file."""
        self.close()

    def begin(self, root: bytes, size_bytes: int, chunks: Sequence[bytes]) -> set[int]:
        """Make room on disk; returns the chunks that an earlier transfer left, checked again.

        Raises:
            NoSpace: the disk is full.
            UserProblem: the system does not allow it.
        """
        self._chunks = b"".join(chunks)
        return super().begin(root, size_bytes, chunks)

    def finish(self) -> str:
        """Everything is here: give it its name and return the path.

        Raises:
            NoSpace: the disk is full.
            UserProblem: the system does not allow it.
        """
        self.close()
        assert self._path is not None
        assert self._final is not None
        place_shard(self._path, self._final, self._chunks)
        return str(self._final)

    def _place(self, root: bytes) -> Path:
        return self._store / root.hex()

    def _forget_others(self) -> None:
        """The store knows which parts may go, and when."""


def place_shard(part: Path, final: Path, chunks: bytes) -> None:
    """Put a whole shard into the store, its chunks' digests first.

    Raises:
        NoSpace: the disk is full.
        UserProblem: the system does not allow it.
    """
    write_atomic(final.with_suffix(CHUNKS_SUFFIX), chunks)
    try:
        part.replace(final)
    except OSError as error:
        raise problem_of(error, final) from error


class DiskShardStore:
    """Keeps shards as files named by their digests, for the reader and for other peers.

    Args:
        folder: Folder of the shards of all collaborations.
        catalogue: The shards of this one.
        budget: Says how many bytes of the disk the person gives to shards.
        seeds: Shards that lie elsewhere, by digest; they stay there, and count for nothing.
    """

    def __init__(
        self,
        folder: Path,
        catalogue: Catalogue,
        *,
        budget: Callable[[], int],
        seeds: Mapping[bytes, Path] | None = None,
    ) -> None:
        self.catalogue = catalogue
        self._folder = folder
        self._budget = budget
        self._seeds = dict(seeds or {})
        self._open: OrderedDict[bytes, DiskShardFile] = OrderedDict()
        self._spare: dict[Path, int] = {}
        """What is spare, the oldest first, and the room that it takes."""
        self._entries = {entry.digest: entry for entries in catalogue.sources.values() for entry in entries}

    @property
    def budget_bytes(self) -> int:
        """Bytes of the disk that the person allows for shards."""
        return self._budget()

    @property
    def spare_bytes(self) -> int:
        """Bytes of the disk that spare files take."""
        return sum(self._spare.values())

    def room_bytes(self, digest: bytes) -> int:
        """Return the bytes that a shard takes or would take on the disk, with its chunks' digests; 0 for a seed."""
        if digest in self._seeds:
            return 0
        size_bytes = self._entries[digest].size_bytes
        return on_disk(size_bytes) + on_disk(DIGEST_BYTES * -(-size_bytes // CHUNK_BYTES))

    def held(self) -> Sequence[bytes]:
        """Look at the folder: digests of the shards that are there, as long as they should be.

        Others become spare, also those of which this catalogue, which may lie, says another size; what is torn goes.
        """
        found = list(self._seeds)
        spare: list[tuple[float, Path, int]] = []
        names = {entry.hex(): entry for entry in self._entries}
        for path in self._folder.iterdir() if self._folder.is_dir() else ():
            if not _OWN.match(path.name) or (path.suffix == CHUNKS_SUFFIX and path.with_suffix("").exists()):
                continue
            if path.suffix == COPY_SUFFIX:
                path.unlink(missing_ok=True)
                continue
            size, chunks = _sizes(path)
            whole = not path.suffix and chunks == DIGEST_BYTES * -(-size // CHUNK_BYTES)
            entry = names.get(path.name)
            if not whole:
                _delete(path)
            elif entry is not None and entry not in self._seeds and self._entries[entry].size_bytes == size:
                found.append(entry)
            else:
                spare.append((path.stat().st_mtime, path, on_disk(size) + on_disk(chunks)))
        parts = self._folder / PARTS
        begun: list[Path] = []
        for path in parts.iterdir() if parts.is_dir() else ():
            if path.stat().st_size:
                begun.append(path)
            else:  # a kill came before it got its length: it frees nothing
                _delete(path)
        spare += [(path.stat().st_mtime, path, on_disk(path.stat().st_size)) for path in begun]
        self._spare = {path: room for _, path, room in sorted(spare)}
        return found

    def expect(self, digest: bytes) -> None:
        """A shard comes, for which there is room: what lies here of it, or in its place, is not spare."""
        self._spare.pop(self._part(digest), None)
        self._spare.pop(self.path(digest), None)

    def give_up(self, digest: bytes) -> None:
        """A shard does not come any more: what came of it is spare."""
        if size := _sizes(self._part(digest))[0]:
            self._spare[self._part(digest)] = on_disk(size)

    def drop_spare(self) -> int:
        """Delete what has been spare for longest; returns the bytes that are free now, 0 where nothing could go."""
        for path, room in list(self._spare.items()):
            if _delete(path):
                return self._spare.pop(path, room)
        return 0

    def path(self, name: bytes) -> Path:
        """Where the shard of a digest lies, or would."""
        return self._seeds.get(name, self._folder / name.hex())

    def file(self, digest: bytes) -> DiskShardFile | None:
        """The file of a shard, for others; None: it is not there any more, or is another one."""
        file = self._open.pop(digest, None)
        if file is None:
            path, chunks = self.path(digest), b""
            try:
                if digest not in self._seeds:
                    chunks = read_bounded(path.with_suffix(CHUNKS_SUFFIX), CHUNKS_BYTES_MAX) or b""
                file = DiskShardFile(path, digest, chunks=chunks)
            except (Problem, ValueError):
                return None
        remember(self._open, digest, file, OPEN_MAX)
        return file

    def sink(self, digest: bytes) -> ShardSink:
        """Where a shard is put together, beside others."""
        del digest  # the sink is told when it begins
        return ShardSink(self._folder)

    def evict(self, digest: bytes) -> bool:
        """Delete a shard; False: it is a seed, or the system does not allow it now."""
        if digest in self._seeds:
            return False
        self._open.pop(digest, None)
        return _delete(self.path(digest))

    def _part(self, digest: bytes) -> Path:
        return self._folder / PARTS / f"{digest.hex()}{PART_SUFFIX}"

    def copy_in(self, entry: ShardEntry, source: Path) -> bool:
        """Copy a file into the store if it is that shard; may take seconds.

        Args:
            entry: The shard.
            source: A file that a reader names.

        Returns:
            Whether it is that shard, and lies here now.
        """
        copy = self._folder / f"{entry.digest.hex()}{COPY_SUFFIX}"
        digests = bytearray()
        try:
            found = source.stat()
            if not stat.S_ISREG(found.st_mode) or found.st_size != entry.size_bytes:
                return False
            make_directory(self._folder)
            with copy.open("wb") as file:
                for chunk in file_chunks(source):
                    digests += digest(chunk)
                    file.write(chunk)
            if digest(bytes(digests)) != entry.digest:
                return False
            place_shard(copy, self.path(entry.digest), bytes(digests))
            self._spare.pop(self.path(entry.digest), None)
        except (OSError, Problem):
            return False
        finally:
            copy.unlink(missing_ok=True)
        return True


def is_shard(path: Path, name: bytes) -> bool:
    """Whether a file is the shard of a digest, byte for byte; may take a tenth of a second."""
    try:
        return root_digest(chunk_digests(file_chunks(path))) == name
    except OSError:
        return False


def _sizes(path: Path) -> tuple[int, int]:
    """Lengths of a file and of the one with its chunks' digests; 0 where there is none."""
    sizes = [each.stat().st_size if each.is_file() else 0 for each in (path, path.with_suffix(CHUNKS_SUFFIX))]
    return sizes[0], sizes[1]


def _delete(path: Path) -> bool:
    """Delete a file, and the one with its chunks' digests; returns whether they are gone."""
    try:
        path.unlink(missing_ok=True)
        path.with_suffix(CHUNKS_SUFFIX).unlink(missing_ok=True)
    except OSError:  # somebody reads it, and this is Windows
        return False
    return True


def seeds_in(folder: Path, names: Mapping[str, ShardEntry]) -> dict[bytes, Path]:
    """The shards of an index that lie in an organiser's folder, whole, by digest; each is read once.

    Args:
        folder: What `potluck data cut` has made.
        names: Names of the shards' files.

    Raises:
        Damaged: a file is not the shard that it is called.
    """
    found: dict[bytes, Path] = {}
    for name, entry in names.items():
        path = folder / name
        if not path.is_file():
            continue
        if path.stat().st_size != entry.size_bytes or root_digest(chunk_digests(file_chunks(path))) != entry.digest:
            raise Damaged(
                "{path} is not the shard of the index.", path, hint="Cut the data anew, or copy the file again."
            )
        found[entry.digest] = path
    return found
