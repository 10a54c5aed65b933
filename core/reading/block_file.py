"""A block of rows in a file of numpy's format `.npy`, which grows, and says at its end when it is whole.

    header      128 bytes, with as many rows as there are so far
    rows        one after the other
    seal        64 bytes, once it is whole: how many rows, whether it is the shard's last, and a digest of the rows

What numpy reads ends with the rows, so one that maps the file sees no seal.  A file without a right seal was torn by a
crash or damaged on the disk: it is made again, which gives the same bytes.
"""

import hashlib
import struct
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.base.content import DIGEST_BYTES

HEADER_BYTES: Final = 128
SEAL_BYTES: Final = 64
_SEAL: Final = struct.Struct(f">8sQ?{DIGEST_BYTES}s15x")
_MARK: Final = b"potluckb"
_PRELUDE: Final = b"\x93NUMPY\x01\x00" + struct.pack("<H", HEADER_BYTES - 10)


class Shape(NamedTuple):
    """What all rows of a collaboration have in common."""

    width: int
    wide: bool
    """Whether numbers take 32 bits, else 16."""

    @property
    def dtype(self) -> np.dtype[np.uint16] | np.dtype[np.uint32]:
        """The type of the numbers, the same on every machine."""
        return np.dtype("<u4") if self.wide else np.dtype("<u2")

    @property
    def row_bytes(self) -> int:
        """Bytes that a row takes on the disk."""
        return self.width * self.dtype.itemsize


class Seal(NamedTuple):
    """What a whole file says of itself."""

    rows: int
    last: bool
    """Whether it is the last block of its shard."""


class BlockFile:
    """A file to which rows are appended.

    Args:
        path: Where it is made, in the place of whatever is there.
        shape: Shape of its rows.

    Raises:
        OSError: it cannot be written; so do the methods.
    """

    def __init__(self, path: Path, shape: Shape) -> None:
        self.path = path
        self.rows = 0
        self._shape = shape
        self._digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
        remove(path)  # never cut short: the worker may have mapped it
        self._file = path.open("xb", buffering=0)
        self._write(_header(0, shape))

    @property
    def size(self) -> int:
        """How long it is so far."""
        return HEADER_BYTES + self.rows * self._shape.row_bytes

    def append(self, rows_RW: NDArray[np.generic]) -> None:  # noqa: N803 - named by its shape
        """Append rows, which a process that reads the file's header afterwards finds."""
        data = rows_RW.astype(self._shape.dtype, copy=False).tobytes()
        self._digest.update(data)
        self._write(data)
        self.rows += len(rows_RW)
        self._file.seek(0)
        self._write(_header(self.rows, self._shape))
        self._file.seek(0, 2)

    def seal(self, *, last: bool) -> None:
        """Say that it is whole.  A power cut before the disk has all of it is found by the digest."""
        self._write(_SEAL.pack(_MARK, self.rows, last, self._digest.digest()))
        self._file.close()

    def give_up(self) -> None:
        """Delete it, as far as the system lets us."""
        self._file.close()
        remove(self.path)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) :]


def read_seal(path: Path, shape: Shape) -> Seal | None:
    """What a file says of itself; None: it is not whole, damaged, or of another shape.

    Args:
        path: The file.
        shape: Shape that its rows must have.
    """
    try:
        with path.open("rb") as file:
            head = file.read(HEADER_BYTES)
            size = file.seek(0, 2)
            if size < HEADER_BYTES + SEAL_BYTES:
                return None
            file.seek(size - SEAL_BYTES)
            mark, rows, last, digest = _SEAL.unpack(file.read(SEAL_BYTES))
            right = mark == _MARK and head == _header(rows, shape)
            if not right or size != HEADER_BYTES + rows * shape.row_bytes + SEAL_BYTES:
                return None
            file.seek(HEADER_BYTES)
            found = hashlib.blake2b(digest_size=DIGEST_BYTES)
            left = rows * shape.row_bytes
            while left and (chunk := file.read(min(left, 1 << 20))):
                found.update(chunk)
                left -= len(chunk)
            if found.digest() != digest:
                return None
    except (OSError, struct.error):
        return None
    return Seal(rows, last)


def remove(path: Path) -> bool:
    """Delete a file; returns whether it is gone.  Windows keeps what somebody maps."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _header(rows: int, shape: Shape) -> bytes:
    said = f"{{'descr': '{shape.dtype.str}', 'fortran_order': False, 'shape': ({rows}, {shape.width}), }}"
    return _PRELUDE + said.encode().ljust(HEADER_BYTES - len(_PRELUDE) - 1) + b"\n"
