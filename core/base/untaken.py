"""Which chunks of a contribution a round has not taken, as engine and worker tell each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from core.base.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Untaken(msgspec.Struct, frozen=True, array_like=True):
    """Chunks of a contribution that are in no mean, because the round's plan did not ask for them."""

    chunk_numel: int
    """Numbers in each chunk; the last one may be shorter."""
    chunks: bytes
    """A bit for each chunk, eight in a byte, the first in the highest place: 1 where it was not taken."""

    @classmethod
    def of(cls, untaken: Sequence[bool], *, chunk_numel: int) -> Untaken:
        """The chunks for which `untaken` is true."""
        return cls(chunk_numel, np.packbits(np.array(untaken, dtype=np.bool_)).tobytes())

    def mask(self, numel: int) -> NDArray[np.bool_]:
        """Whether each number of the vector was not taken; shape (numel,)."""
        chunks = np.unpackbits(np.frombuffer(self.chunks, dtype=np.uint8)).astype(np.bool_)
        return np.repeat(chunks, self.chunk_numel)[:numel]
