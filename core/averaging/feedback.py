"""Error feedback: what a coarse codec loses in one round is made up for in the next.

Seide et al. 2014, Karimireddy et al. 2019.  A round's mean is the sum of samples times contribution over the sum of
samples, so what is lost is kept as such a product too: the *residual* of a member says by how much the sums of past
rounds fell short, and it is owed to the sum of the next.  With n samples, residual e and gradient c a member
contributes c' = c + e / n; of what decodes to q it keeps n (c' - q).  The next n may be another: what is owed stays.

Both sides of the codec lose.  A reducer whose mean m, of N samples, decodes to q owes N (m - q), and takes that for its
residual.  Next time it is part of its contribution, whoever then reduces that chunk, so shares may move.  A reducer
without samples contributes nothing; it adds its residual to the means that it makes.

So at any time the sum over rounds of N times decoded mean, plus everybody's residuals, is the sum over rounds of n
times c, over those whose parts were in the means.  Nothing is lost; it only comes later.

Until a round is committed its residuals are a draft; one that fails leaves everything as it was.  Where a member's part
is not in the mean, the residual stays what it was, and the gradient is lost as it is with any codec.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, Protocol

from core.base.arrays import np
from core.codecs.codec import Codec, Vector
from core.codecs.halves import Bf16


class ResidualStore(Protocol):
    """Residuals as payloads of a codec, by chunk: those that count, and a draft of the next.

    Nothing of it raises: where residuals cannot be kept, they are zero.
    """

    @property
    def codec(self) -> Codec:
        """How residuals are kept."""

    def begin(self) -> int:
        """Start a draft, in which nothing is written; earlier ones are void.  Returns its number."""

    def read(self, chunk: int) -> memoryview | None:
        """The chunk's residual as the last commit left it; None means that it is zero."""

    def write(self, draft: int, chunk: int, payload: memoryview) -> None:
        """Put a chunk in the draft; without effect if it is void."""

    def commit(self, draft: int, kept: Collection[int]) -> None:
        """The draft counts from now on, with the chunks `kept` as they were; without effect if it is void."""


class Carry:
    """One member's residuals in one round.

    Args:
        codec: Codec of parts and means.
        store: Whose residuals count until `commit`.
        samples: The member's own.
    """

    def __init__(self, codec: Codec, store: ResidualStore, *, samples: int) -> None:
        self._codec = codec
        self._store = store
        self._samples = samples
        self._draft = store.begin()
        self._lost: dict[int, bool] = {}
        """The chunks in the draft; of each whether it counts only where this member's part is in the mean."""

    def own(self, chunk: int, values: Vector) -> Vector:
        """What this member contributes to a chunk: its gradient `values` with its residual, in a vector of its own."""
        return self._with_residual(chunk, values, self._samples)

    def part(self, chunk: int, values: Vector, start: int) -> memoryview:
        """The payload of a chunk for its reducer; `start` is where it lies in the vector."""
        whole = self.own(chunk, values)
        payload = self._codec.encode(whole, start)
        self._write(chunk, whole, payload, start, self._samples, sent=True)
        return payload

    def mean(self, chunk: int, mean: Vector, start: int, *, samples: int, own: bool) -> memoryview:
        """The payload of a chunk's mean over `samples`, which this member has made; `own`: with what it contributes."""
        if not own:
            mean = self._with_residual(chunk, mean, samples)
        payload = self._codec.encode(mean, start)
        self._write(chunk, mean, payload, start, samples, sent=False)
        return payload

    def forget(self, chunks: range) -> None:
        """A share starts anew, under another version: what was lost on its way has not been lost."""
        for chunk in chunks:
            self._lost.pop(chunk, None)

    def commit(self, given: Sequence[bool]) -> None:
        """The round is committed; `given` tells, for each chunk, whether this member's part is in its mean."""
        kept = [c for c, part in enumerate(given) if c not in self._lost or (self._lost[c] and not part)]
        if len(kept) < len(given):
            self._store.commit(self._draft, kept)

    def _with_residual(self, chunk: int, values: Vector, samples: int) -> Vector:
        payload = self._store.read(chunk)
        if payload is None or not samples:
            return values
        residual = np.empty(values.size, dtype=np.float32)
        self._store.codec.decode_into(payload, residual)
        with np.errstate(over="ignore", invalid="ignore"):
            residual *= np.float32(1 / samples)
            residual += values
            return residual if np.isfinite(residual.sum()) else values

    def _write(self, chunk: int, whole: Vector, payload: memoryview, start: int, samples: int, *, sent: bool) -> None:
        """Put into the draft what `payload` lacks of `whole`; if that is NaN, the residual stays."""
        self._lost.pop(chunk, None)
        lost = np.empty(whole.size, dtype=np.float32)
        self._codec.decode_into(payload, lost, start)
        with np.errstate(over="ignore", invalid="ignore"):
            np.subtract(whole, lost, out=lost)
            lost *= np.float32(samples)
            if not samples or not np.isfinite(lost.sum()):
                return
        self._store.write(self._draft, chunk, self._store.codec.encode(lost))
        self._lost[chunk] = sent


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
