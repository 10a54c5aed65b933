"""The arena: a memory-mapped file through which engine and worker pass vectors.

The worker owns the slot `contribution` until it says Collected, the engine until it says Absorb or Release; the engine
owns `mean` until it says Absorb.  A worker that computes on while a round is averaged does so in its own memory.
"""

from __future__ import annotations

import contextlib
import mmap
from typing import TYPE_CHECKING, Final

from core.base.arrays import np
from core.system.atomic_files import problem_of

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_ZEROS: Final = bytes(1024 * 1024)
SLOTS: Final = ("contribution", "mean")
FLOAT_BYTES: Final = 4
VECTORS: Final = 8
"""Vectors of four bytes a number in a worker and its engine: parameters, their gradients, the gradients' sum, two slots
that the engine shares, the mean, its update, and the parameters in a checkpoint that is being written."""


class SlotFile:
    """Slots of as many bytes each, in one file.

    Args:
        path: The file.  It is created, or made the right size, when `create` is used.
        count: Number of slots.
        slot_bytes: Bytes of each.
    """

    def __init__(self, path: Path, *, count: int, slot_bytes: int) -> None:
        self.path = path
        self._slot_bytes = slot_bytes
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), count * slot_bytes)
        self._whole = memoryview(self._map)

    @classmethod
    def create(cls, path: Path, *, count: int, slot_bytes: int) -> SlotFile:
        """Create a new file, all zeros, readable by its owner only.

        The zeros are written: with a sparse file, a write to the map would end the process on a full disk (SIGBUS).

        Raises:
            NoSpace: the disk is full.
            UserProblem: the system does not allow it.
        """
        try:
            path.unlink(missing_ok=True)
            path.touch(mode=0o600)
            with path.open("r+b", buffering=0) as file:
                left = count * slot_bytes
                while left:
                    left -= file.write(_ZEROS[:left])
            return cls(path, count=count, slot_bytes=slot_bytes)
        except OSError as error:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
            raise problem_of(error, path) from error

    def slot(self, number: int) -> memoryview:
        """A view of the bytes of a slot; writing to it writes to the file.

        Raises:
            IndexError: there is no such slot.
        """
        begins = number * self._slot_bytes
        if not 0 <= begins < len(self._whole):
            raise IndexError(number)
        return self._whole[begins : begins + self._slot_bytes]

    def close(self) -> None:
        """Give the memory back.  Views handed out must be dropped first; those that are not keep the map alive."""
        try:
            self._whole.release()
            self._map.close()
        except BufferError:
            return


class Arena:
    """Slots of `numel` float32 each, in one file.

    Args:
        path: The file.  It is created, or made the right size, when `create` is used.
        numel: Numbers in each slot, as a vector of shape (numel,).
    """

    def __init__(self, path: Path, numel: int) -> None:
        self._file = SlotFile(path, count=len(SLOTS), slot_bytes=numel * FLOAT_BYTES)

    @classmethod
    def create(cls, path: Path, numel: int) -> Arena:
        """Create a new file, all zeros, readable by its owner only.

        Raises:
            NoSpace: the disk is full.
            UserProblem: the system does not allow it.
        """
        SlotFile.create(path, count=len(SLOTS), slot_bytes=numel * FLOAT_BYTES).close()
        return cls(path, numel)

    def slot(self, name: str) -> NDArray[np.float32]:
        """A view of shape (numel,); writing to it writes to the file."""
        return np.frombuffer(self._file.slot(SLOTS.index(name)), dtype=np.float32)

    def close(self) -> None:
        """Give the memory back.  Views handed out must be dropped first; those that are not keep the map alive."""
        self._file.close()
