"""The arena: a memory-mapped file through which engine and worker pass vectors.

The worker owns the slot `contribution` until it says Collected, the engine until it says Absorb or Release; the engine
owns `mean` until it says Absorb.  A worker that computes on while a round is averaged does so in its own memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.base.arrays import np
from core.workers.slots import SlotFile

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

SLOTS: Final = ("contribution", "mean")
FLOAT_BYTES: Final = 4


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
