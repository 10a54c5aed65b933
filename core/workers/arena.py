"""The arena: a memory-mapped file through which engine and worker pass vectors.

Ownership of a slot passes with a frame on the pipe, like a baton; there is no lock.  The worker owns `contribution`
until it says Collected, the engine until it says Absorb or Release; the engine owns `mean` until it says Absorb.  A
worker that computes on while a round is averaged does so in its own memory.
"""

from __future__ import annotations

import contextlib
import mmap
from pathlib import Path
from typing import TYPE_CHECKING, Final

from core.base.arrays import np
from core.system.atomic_files import problem_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

SLOTS: Final = ("contribution", "mean")
FLOAT_BYTES: Final = 4
_ZEROS: Final = bytes(1024 * 1024)


class Arena:
    """Slots of `numel` float32 each, in one file.

    Args:
        path: The file.  It is created, or made the right size, when `create` is used.
        numel: Numbers in each slot, as a vector of shape (numel,).
    """

    def __init__(self, path: Path, numel: int) -> None:
        self.path = path
        self.numel = numel
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), len(SLOTS) * numel * FLOAT_BYTES)
        whole = np.frombuffer(self._map, dtype=np.float32)
        self._slots = {name: whole[i * numel : (i + 1) * numel] for i, name in enumerate(SLOTS)}

    @classmethod
    def create(cls, path: Path, numel: int) -> Arena:
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
                left = len(SLOTS) * numel * FLOAT_BYTES
                while left:
                    left -= file.write(_ZEROS[:left])
            return cls(path, numel)
        except OSError as error:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
            raise problem_of(error, path) from error

    def slot(self, name: str) -> NDArray[np.float32]:
        """A view of shape (numel,); writing to it writes to the file."""
        return self._slots[name]

    def close(self) -> None:
        """Give the memory back.  Views handed out must be dropped first; those that are not keep the map alive."""
        self._slots = {}
        try:
            self._map.close()
        except BufferError:
            return
