"""One version of one share at the member that reduces it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.averaging.aggregators import Aggregator, WeightedMean
from core.averaging.codecs import Codec
from core.averaging.plan import Plan
from core.base.problems import RemoteProblem
from core.base.trace import Trace


@dataclass(frozen=True, slots=True)
class Vectors:
    """What a round works on, both of shape (numel,)."""

    contribution: NDArray[np.float32]
    """Read only."""
    result: NDArray[np.float32]
    codec: Codec


@dataclass(frozen=True, slots=True)
class Answer:
    """The encoded mean of a chunk, and who is to get it (bits)."""

    chunk: int
    contributors: int
    payload: memoryview
    to: int


@dataclass(slots=True)
class _Pending:
    """A chunk that still lacks parts."""

    aggregate: Aggregator
    contributors: int
    heard: int
    """Whose part came, taken or not: who wants the mean."""


@dataclass(slots=True)
class _Kept:
    """A chunk that is reduced, while somebody has not asked for it yet."""

    contributors: int
    payload: memoryview
    unanswered: int


class Reducer:
    """Collects parts, makes means, keeps those that a slow member has not asked for yet.

    A chunk is reduced as soon as all expected senders' parts are in.  Whoever is dropped is no longer expected: chunks
    already reduced keep its part, later ones go without, and it gets means when it asks for them.  No more than
    `window` chunks are open at a time.

    Args:
        plan: The round's plan.
        share: Which share.
        me: My index.
        live: The members that are in (bits).
        vectors: Contribution, result and codec.
        window: Chunks that a sender may be ahead of the first one not reduced.
        trace: Where misuse is marked.
        now: Unix seconds.
    """

    def __init__(  # noqa: PLR0913 - all of it is the round's own context, fixed at birth
        self, *, plan: Plan, share: int, me: int, live: int, vectors: Vectors, window: int, trace: Trace, now: float
    ) -> None:
        self.count = plan.chunks[share]
        self._plan = plan
        self._offset = plan.first_chunk(share)
        self._me = me
        self._vectors = vectors
        self._window = window
        self._trace = trace
        total = sum(member.samples for member in plan.members)
        self._weights = [member.samples / total if total else 0.0 for member in plan.members]
        self._audience = live & ~(1 << me)
        self._senders = sum(1 << i for i, w in enumerate(self._weights) if w > 0 and self._audience >> i & 1)
        self._first = 0
        self._first_since = now
        self._heard_at = [now] * len(plan.members)
        self._pending: dict[int, _Pending] = {}
        self._kept: dict[int, _Kept] = {}
        self._reduced = bytearray(self.count)
        self._scratch = np.empty(min(plan.chunk_numel, plan.numel), dtype=np.float32)

    @property
    def open_chunks(self) -> int:
        """Accumulators in use."""
        return len(self._pending)

    def begin(self, now: float) -> list[Answer]:
        """Reduce what needs nobody else: everything, when no other member has samples."""
        return [] if self._senders else self._reduce_rest(now)

    def take(self, member: int, chunk: int, payload: memoryview, *, now: float) -> list[Answer]:
        """A part arrived from `member`; say what can be sent now.  `chunk` is within the share."""
        bit = 1 << member
        if self._reduced[chunk]:
            return self._answer_late(chunk, bit)
        if chunk >= self._first + self._window:
            self._trace.mark("averaging.drop.window")
            return []
        pending = self._pending.get(chunk) or self._open(chunk)
        if pending.heard & bit:
            self._trace.mark("averaging.drop.duplicate")
            return []
        answers = []
        if self._senders & bit:
            self._heard_at[member] = now
            if self._add(member, chunk, payload):
                pending.contributors |= bit
            else:
                answers = self.drop(member, now)
        elif payload.nbytes:
            self._trace.mark("averaging.drop.late")
        if self._reduced[chunk]:  # dropping the sender has completed it
            return answers + self._answer_late(chunk, bit)
        pending.heard |= bit
        return answers + self._reduce_if_complete(chunk, now)

    def drop(self, member: int, now: float) -> list[Answer]:
        """Do not wait for `member` any longer."""
        bit = 1 << member
        if not self._senders & bit:
            return []
        self._senders &= ~bit
        if not self._senders:
            return self._reduce_rest(now)
        return [answer for chunk in sorted(self._pending) for answer in self._reduce_if_complete(chunk, now)]

    def forget(self, member: int, now: float) -> list[Answer]:
        """`member` is out of the round: neither wait for it nor keep means for it."""
        bit = 1 << member
        self._audience &= ~bit
        answers = self.drop(member, now)
        for chunk in [chunk for chunk, kept in self._kept.items() if not kept.unanswered & self._audience]:
            del self._kept[chunk]
        return answers

    def overdue(self, now: float) -> list[int]:
        """Senders whose part of the first open chunk has been missing for the stall timeout."""
        return [member for member in self._awaited() if self._due_at(member) <= now]

    @property
    def deadline(self) -> float | None:
        """When the next sender will be overdue."""
        return min((self._due_at(member) for member in self._awaited()), default=None)

    def _awaited(self) -> list[int]:
        if self._first >= self.count:
            return []
        pending = self._pending.get(self._first)
        missing = self._senders & ~(pending.heard if pending else 0)
        return [member for member in range(len(self._weights)) if missing >> member & 1]

    def _due_at(self, member: int) -> float:
        return max(self._heard_at[member], self._first_since) + self._plan.stall_timeout_s

    def _span(self, chunk: int) -> slice:
        return self._plan.span(self._offset + chunk)

    def _open(self, chunk: int) -> _Pending:
        span = self._span(chunk)
        pending = _Pending(WeightedMean(span.stop - span.start), contributors=0, heard=0)
        weight = self._weights[self._me]
        if weight > 0:
            own = self._vectors.contribution[span]
            if pending.aggregate.add(own, weight, self._scratch[: own.size]):
                pending.contributors = 1 << self._me
            else:
                self._trace.mark("averaging.own_not_finite")
        self._pending[chunk] = pending
        return pending

    def _add(self, member: int, chunk: int, payload: memoryview) -> bool:
        span = self._span(chunk)
        values = self._scratch[: span.stop - span.start]
        try:
            self._vectors.codec.decode_into(payload, values, span.start)
        except RemoteProblem:
            self._trace.mark("averaging.drop.payload")
            return False
        if not self._pending[chunk].aggregate.add(values, self._weights[member], values):
            self._trace.mark("averaging.drop.not_finite")
            return False
        return True

    def _reduce_rest(self, now: float) -> list[Answer]:
        answers = []
        for chunk in range(self._first, self.count):
            if not self._reduced[chunk]:
                if chunk not in self._pending:
                    self._open(chunk)
                answers += self._reduce_if_complete(chunk, now)
        return answers

    def _reduce_if_complete(self, chunk: int, now: float) -> list[Answer]:
        pending = self._pending[chunk]
        if self._senders & ~pending.heard:
            return []
        del self._pending[chunk]
        span = self._span(chunk)
        payload = self._vectors.codec.encode(pending.aggregate.finish(), span.start)
        self._vectors.codec.decode_into(payload, self._vectors.result[span], span.start)
        self._reduced[chunk] = 1
        while self._first < self.count and self._reduced[self._first]:
            self._first += 1
            self._first_since = now
        unanswered = self._audience & ~pending.heard
        if unanswered:
            self._kept[chunk] = _Kept(pending.contributors, payload, unanswered)
        return [Answer(chunk, pending.contributors, payload, pending.heard & self._audience)]

    def _answer_late(self, chunk: int, bit: int) -> list[Answer]:
        kept = self._kept.get(chunk)
        if kept is None or not kept.unanswered & bit:
            self._trace.mark("averaging.drop.duplicate")
            return []
        kept.unanswered &= ~bit
        if not kept.unanswered & self._audience:
            del self._kept[chunk]
        return [Answer(chunk, kept.contributors, kept.payload, bit)]
