"""Residuals in a file: quantisation errors that a member owes to the next rounds survive pauses, kills and restarts.

The file has room for two versions of all residuals, and a record for each.  The record with the greater number says
which version counts; a round writes the other one, chunk by chunk, and at its commit the record, which is so short that
it is there or not.  A process that is killed at any time leaves either the old version or that of the round.

Nothing is synced, for a round does not wait for a disk.  After a power cut the file is checked against the record's
sums when it is opened; a file that does not agree with them is set aside, and residuals begin at zero.

Residuals are read and written by chunk, not mapped: they take no memory except a chunk's.
"""

import contextlib
import hashlib
import logging
import os
import struct
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Final

from core.averaging.feedback import RESIDUAL_CODEC
from core.base.problems import Damaged
from core.system.atomic_files import make_directory, problem_of, set_aside

_LOG = logging.getLogger(__name__)
_RECORD: Final = struct.Struct("<8s32sQII")
"""Magic, what it is about, number, sum of the version's table, sum of all before."""
_MAGIC: Final = b"potluckR"
_RECORD_ROOM: Final = 512
"""Each record in a sector of its own."""
_SUM_BYTES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualShape:
    """Vector that a file of residuals belongs to; a file for another one is not used."""

    manifest: bytes
    """Its id."""
    codec: str
    numel: int
    chunk_numel: int

    @property
    def chunks(self) -> int:
        """Number of chunks in the vector."""
        return -(-self.numel // self.chunk_numel)

    @property
    def digest(self) -> bytes:
        """Name of the vector, 32 bytes."""
        text = f"{self.manifest.hex()} {self.codec} {self.numel} {self.chunk_numel}"
        return hashlib.blake2b(text.encode(), digest_size=32).digest()

    def span(self, chunk: int) -> tuple[int, int]:
        """Where the payload of a chunk begins and ends in a version, in bytes."""
        ends = (min(k * self.chunk_numel, self.numel) for k in (chunk, chunk + 1))
        begin, end = (RESIDUAL_CODEC.max_bytes(numel) for numel in ends)
        return begin, end


class ResidualVersions:
    """Two versions of all residuals in an open file, each with a table of sums and a record.

    Args:
        file: Open for reading and writing.
        shape: The vector that it belongs to.
    """

    def __init__(self, file: FileIO, shape: ResidualShape) -> None:
        self._file = file
        self._shape = shape

    def fill(self) -> None:
        """Write zeros everywhere: a disk without room says so now.

        Raises:
            OSError: it cannot be written.
        """
        for version in (0, 1):
            sums = []
            for chunk in range(self._shape.chunks):
                begin, end = self._shape.span(chunk)
                zeros = bytes(end - begin)
                sums.append(zlib.crc32(zeros))
                self.write(version, chunk, memoryview(zeros))
            self.write_record(version, 0, sums)

    def newest(self) -> tuple[int, int, list[int]]:
        """Return the valid version, its number and the sums of its chunks, all of which were checked.

        Raises:
            Damaged: the file is of another shape, or not what was written last.
            OSError: it cannot be read.
        """
        if os.fstat(self._file.fileno()).st_size != self._table(2):
            raise Damaged("The residuals have another length than they should.")
        found = [record for version in (0, 1) if (record := self._read_record(version)) is not None]
        if not found:
            raise Damaged("The residuals are of another vector, or their records are torn.")
        number, version, table_sum = max(found)
        table = self._get(self._table(version), self._shape.chunks * _SUM_BYTES)
        sums = list(struct.unpack(f"<{self._shape.chunks}I", table))
        whole = all(zlib.crc32(self.read(version, chunk)) == expected for chunk, expected in enumerate(sums))
        if not whole or zlib.crc32(table) != table_sum:
            raise Damaged("The residuals are not those that were written last.")
        return version, number, sums

    def read(self, version: int, chunk: int) -> bytes:
        """Return a chunk's payload.

        Raises:
            OSError: it cannot be read.
        """
        begin, end = self._shape.span(chunk)
        return self._get(self._place(version) + begin, end - begin)

    def write(self, version: int, chunk: int, payload: memoryview) -> None:
        """Write a chunk's payload.

        Raises:
            OSError: it cannot be written.
        """
        self._put(self._place(version) + self._shape.span(chunk)[0], payload)

    def write_record(self, version: int, number: int, sums: list[int]) -> None:
        """Make a version count, if its number is the greater one.

        Args:
            version: 0 or 1.
            number: Rounds that have been committed in this file.
            sums: Sums of its chunks.

        Raises:
            OSError: it cannot be written.
        """
        table = struct.pack(f"<{len(sums)}I", *sums)
        self._put(self._table(version), memoryview(table))
        head = _RECORD.pack(_MAGIC, self._shape.digest, number, zlib.crc32(table), 0)[:-_SUM_BYTES]
        record = head + struct.pack("<I", zlib.crc32(head))
        self._put(version * _RECORD_ROOM, memoryview(record + bytes(_RECORD_ROOM - len(record))))

    def _read_record(self, version: int) -> tuple[int, int, int] | None:
        """Number, version and sum of its table; None: there is no whole record of this shape."""
        data = self._get(version * _RECORD_ROOM, _RECORD.size)
        magic, digest, number, table_sum, own_sum = _RECORD.unpack(data)
        sound = magic == _MAGIC and digest == self._shape.digest and zlib.crc32(data[:-_SUM_BYTES]) == own_sum
        return (number, version, table_sum) if sound else None

    def _table(self, version: int) -> int:
        version_bytes = self._shape.chunks * _SUM_BYTES + RESIDUAL_CODEC.max_bytes(self._shape.numel)
        return 2 * _RECORD_ROOM + version * version_bytes

    def _place(self, version: int) -> int:
        return self._table(version) + self._shape.chunks * _SUM_BYTES

    def _get(self, place: int, length: int) -> bytes:
        self._file.seek(place)
        data = bytearray()
        while len(data) < length:
            more = self._file.read(length - len(data))
            if not more:
                raise OSError("the file of residuals ends too early")
            data += more
        return bytes(data)

    def _put(self, place: int, data: memoryview) -> None:
        self._file.seek(place)
        while data:
            data = data[self._file.write(data) :]


class ResidualFile:
    """A `core.averaging.feedback.ResidualStore` on disk.

    A disk that fails while it is used makes residuals zero until the file is opened again.

    Args:
        path: The file; made when there is none.
        shape: The vector that it belongs to.

    Raises:
        NoSpace: the disk is full.
        UserProblem: the system does not allow it.
    """

    codec = RESIDUAL_CODEC

    def __init__(self, path: Path, shape: ResidualShape) -> None:
        self._path = path
        self._shape = shape
        self._draft_number = 0
        self._broken = False
        self.set_aside: Path | None = None
        """Where a file that could not be used is now."""
        try:
            self._active, self._number, self._sums = self._open()
        except FileNotFoundError:
            self._create()
        except Damaged as problem:
            self.set_aside = set_aside(path)
            _LOG.warning("%s They begin at zero; the file is now %s.", problem.message, self.set_aside)
            self._create()
        except OSError as error:
            raise problem_of(error, path) from error
        self._draft_sums = list(self._sums)

    @property
    def number(self) -> int:
        """Rounds that have been committed in this file."""
        return self._number

    def begin(self) -> int:
        """Start a draft; earlier ones are void."""
        self._draft_number += 1
        return self._draft_number

    def read(self, chunk: int) -> memoryview | None:
        """The committed residuals of a chunk; None: zeros."""
        try:
            return None if self._broken else memoryview(self._versions.read(self._active, chunk))
        except OSError as error:
            self._fail(error)
            return None

    def write(self, draft: int, chunk: int, payload: memoryview) -> None:
        """Put a chunk in the draft."""
        if self._broken or draft != self._draft_number:
            return
        try:
            self._draft_sums[chunk] = zlib.crc32(payload)
            self._versions.write(1 - self._active, chunk, payload)
        except OSError as error:
            self._fail(error)

    def commit(self, draft: int, kept: Collection[int]) -> None:
        """The draft counts from now on, with the chunks `kept` as they were."""
        if draft != self._draft_number:
            return
        for chunk in kept:
            payload = self.read(chunk)
            if payload is not None:
                self.write(draft, chunk, payload)
        self._draft_number += 1
        if self._broken:
            return
        other = 1 - self._active
        try:
            self._versions.write_record(other, self._number + 1, self._draft_sums)
        except OSError as error:
            self._fail(error)
            return
        self._active, self._number = other, self._number + 1
        self._sums, self._draft_sums = self._draft_sums, self._sums

    def close(self) -> None:
        """Close the file; a draft is lost."""
        self._broken = True
        self._file.close()

    def _create(self) -> None:
        """A file of zeros, all of which are written: a disk without room says so now."""
        make_directory(self._path.parent)
        temporary = self._path.with_name(f".{self._path.name}.new")
        try:
            temporary.unlink(missing_ok=True)
            descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
            with FileIO(descriptor, "r+b") as file:
                ResidualVersions(file, self._shape).fill()
            temporary.replace(self._path)
            self._active, self._number, self._sums = self._open()
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise problem_of(error, self._path) from error

    def _open(self) -> tuple[int, int, list[int]]:
        """Open the file; which version counts, its number and the sums of its chunks.

        Raises:
            Damaged: it is of another shape, or not what was written last.
            OSError: it cannot be read.
        """
        self._file = FileIO(self._path, "r+b")
        self._versions = ResidualVersions(self._file, self._shape)
        try:
            return self._versions.newest()
        except BaseException:
            self._file.close()
            raise

    def _fail(self, error: OSError) -> None:
        _LOG.error("What averaging loses is not kept any more: %s", error)
        self._broken = True
