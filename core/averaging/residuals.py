"""Where residuals of coarse codecs stay from round to round (`core.averaging.feedback`)."""

from collections.abc import Collection
from typing import Final

from core.codecs.halves import Bf16

RESIDUAL_CODEC: Final = Bf16()
"""How residuals are kept: half a vector's bytes, and a range that no residual leaves."""


class MemoryStore:
    """Residuals in memory, for as long as the process runs."""

    codec = RESIDUAL_CODEC

    def __init__(self) -> None:
        self._draft_number = 0
        self._chunks: dict[int, bytes] = {}
        self._draft: dict[int, bytes] = {}

    def begin(self) -> int:
        """Start a draft; earlier ones are void."""
        self._draft_number += 1
        self._draft = {}
        return self._draft_number

    def read(self, chunk: int) -> memoryview | None:
        """The chunk's residual as the last commit left it; None means that it is zero."""
        found = self._chunks.get(chunk)
        return None if found is None else memoryview(found)

    def write(self, draft: int, chunk: int, payload: memoryview) -> None:
        """Put a chunk in the draft."""
        if draft == self._draft_number:
            self._draft[chunk] = bytes(payload)

    def commit(self, draft: int, kept: Collection[int]) -> None:
        """The draft counts from now on."""
        if draft == self._draft_number:
            for chunk in kept:
                self._draft.pop(chunk, None)
            self._chunks |= self._draft
            self._draft_number += 1
