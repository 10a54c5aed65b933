"""Files that peers give each other, as the swarm sees them."""

from collections.abc import Sequence
from typing import Protocol


class StateFile(Protocol):
    """A checkpoint file that others may have."""

    @property
    def digest(self) -> bytes:
        """Root digest of the file's chunks, by which downloaders ask for the state."""

    @property
    def size_bytes(self) -> int:
        """The file's length in bytes, which an offer tells before any chunk is sent."""

    @property
    def chunks(self) -> Sequence[bytes]:
        """Digest of each chunk of 256 KiB."""

    def read(self, index: int) -> bytes:
        """One chunk.

        Raises:
            Problem: the file is gone or unreadable.
        """
