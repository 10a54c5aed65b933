"""One version of one share at the member that reduces it."""

from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.averaging.aggregators import WeightedMean, all_finite
from core.averaging.allreduce.giving import Giving
from core.averaging.allreduce.overtime import Overtime
from core.averaging.allreduce.vectors import Vectors
from core.averaging.plan import Plan
from core.base.machine import earliest
from core.base.problems import RemoteProblem
from core.base.trace import Trace

LAST_IN: Final = 0.3
"""Whoever's part was the last one in so many chunks holds up the others."""


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

    expected: int
    """Who gives a part of it, by the plan; without me."""
    heard: int = 0
    """Who has asked for the mean, with a part or without."""
    parts: dict[int, memoryview] = field(default_factory=dict)


class Reducer:
    """Collects parts, makes means, answers each member that asks.

    A chunk is reduced as soon as all expected parts are in, in the order of the plan's members and with one's own part
    encoded like the others': so the mean depends on who is in it, and on nothing else.  Whoever is dropped is no longer
    expected: chunks already reduced keep its part, later ones go without, and it gets means when it asks for them.  No
    more than `window` chunks are open at a time.

    Args:
        plan: The round's plan.
        share: Which share; `vectors` hold its means.
        me: My index.
        live: The members that are in (bits).
        giving: Who gives what.
        vectors: Contribution, result and codec.
        window: Chunks that a sender may be ahead of the first one not reduced.
        patience_s: How long a sender may let the share wait.
        overtime: Counts for whom the share waits.
        trace: Where misuse is marked.
        now: Unix seconds.
    """

    def __init__(  # noqa: PLR0913 - all of it is the round's own context, fixed at birth
        self,
        *,
        plan: Plan,
        share: int,
        me: int,
        live: int,
        giving: Giving,
        vectors: Vectors,
        window: int,
        patience_s: float,
        overtime: Overtime,
        trace: Trace,
        now: float,
    ) -> None:
        self.count = plan.chunks[share]
        self._share = share
        self._me = me
        self._giving = giving
        self._vectors = vectors
        self._window = window
        self._patience_s = patience_s
        self._overtime = overtime
        self._trace = trace
        self._audience = live & giving.receivers & ~(1 << me)
        self._senders = live & giving.givers & ~(1 << me)
        self._first = 0
        self._first_since = now
        self._heard_at = [now] * len(plan.members)
        self._pending: dict[int, _Pending] = {}
        self._last: Counter[int] = Counter()
        self._contributors: list[int | None] = [None] * self.count
        self._unanswered: dict[int, int] = {}
        self._recent: OrderedDict[int, memoryview] = OrderedDict()
        """Payloads for those who ask late: the newest ones, of chunks that somebody has not asked for."""
        self._scratch = np.empty(min(plan.chunk_numel, plan.numel), dtype=np.float32)

    @property
    def open_chunks(self) -> int:
        """Chunks that wait for parts."""
        return len(self._pending)

    @property
    def held_bytes(self) -> int:
        """Payloads that are kept: parts of open chunks, and means that somebody has not asked for."""
        parts = sum(part.nbytes for pending in self._pending.values() for part in pending.parts.values())
        return parts + sum(payload.nbytes for payload in self._recent.values())

    @property
    def complete(self) -> bool:
        """Whether all means are made."""
        return self._first >= self.count

    def begin(self, now: float) -> list[Answer]:
        """Reduce what needs nobody else."""
        return self._go_on(now)

    def take(self, member: int, chunk: int, payload: memoryview, *, now: float) -> list[Answer]:
        """A part arrived from `member`; say what can be sent now.  `chunk` is within the share."""
        self._count(now)
        bit = 1 << member
        if self._contributors[chunk] is not None:
            return self._answer_late(chunk, bit)
        if chunk >= self._first + self._window:
            self._trace.mark("averaging.drop.window")
            return []
        pending = self._pending.get(chunk) or self._open(chunk)
        if pending.heard & bit:
            self._trace.mark("averaging.drop.duplicate")
            return []
        pending.heard |= bit
        if self._senders & bit:
            self._heard_at[member] = now
        if pending.expected & self._senders & bit:
            if payload.nbytes != self._wire_bytes(chunk):
                self._trace.mark("averaging.drop.payload")
                return self.drop(member, now)
            pending.parts[member] = payload
        elif payload.nbytes:
            self._trace.mark("averaging.drop.late")
        if not self._is_ready(pending):
            return []
        self._last[member] += 1
        return self._go_on(now)

    def drop(self, member: int, now: float) -> list[Answer]:
        """Do not wait for `member` any longer."""
        bit = 1 << member
        if not self._senders & bit:
            return []
        self._count(now)
        self._senders &= ~bit
        return self._go_on(now)

    def forget(self, member: int, now: float) -> list[Answer]:
        """`member` is out of the round: neither wait for it nor answer it."""
        self._audience &= ~(1 << member)
        for chunk in [chunk for chunk, unanswered in self._unanswered.items() if not unanswered & self._audience]:
            self._all_answered(chunk)
        return self.drop(member, now)

    def overdue(self, now: float) -> list[int]:
        """Senders whose part of the first open chunk has been missing for too long."""
        self._count(now)
        awaited = self._awaited()
        left = self._overtime.to_leave(awaited, now, of=self._senders.bit_count())
        return sorted({*left, *(member for member in awaited if self._due_at(member) <= now)})

    def hold_ups(self) -> list[int]:
        """Whose part came last in many of the chunks since this was asked before; never more than half of the members.

        Not who is awaited right now: a sender may wait itself for the means of a share that another holds up.
        """
        last, self._last = self._last, Counter()
        most = (self._senders.bit_count() + 1) // 2
        return [m for m, chunks in last.most_common(most) if chunks >= LAST_IN * last.total()]

    @property
    def deadline(self) -> float | None:
        """When the next sender will be overdue."""
        awaited = self._awaited()
        due_at = min((self._due_at(member) for member in awaited), default=None)
        return earliest(due_at, self._overtime.left_at(awaited, of=self._senders.bit_count()))

    # --- inside ---

    def _count(self, now: float) -> None:
        """Before it changes for whom the share waits."""
        if self._overtime.over(now):
            self._overtime.count(self._awaited(), now, of=self._senders.bit_count())

    def _awaited(self) -> list[int]:
        if self.complete:
            return []
        pending = self._pending.get(self._first)
        missing = self._senders & (pending.expected & ~pending.heard if pending else self._expected(self._first))
        return [member for member in range(len(self._heard_at)) if missing >> member & 1]

    def _due_at(self, member: int) -> float:
        return max(self._heard_at[member], self._first_since) + self._patience_s

    def _expected(self, chunk: int) -> int:
        return self._giving.givers_of(self._vectors.number(self._share, chunk)) & ~(1 << self._me)

    def _open(self, chunk: int) -> _Pending:
        pending = self._pending[chunk] = _Pending(self._expected(chunk))
        return pending

    def _is_ready(self, pending: _Pending) -> bool:
        return not pending.expected & self._senders & ~pending.heard

    def _wire_bytes(self, chunk: int) -> int:
        span = self._vectors.span(self._share, chunk)
        return self._vectors.codec.wire_bytes(span.stop - span.start, span.start)

    def _go_on(self, now: float) -> list[Answer]:
        """Reduce every open chunk that lacks nothing, and those after them that wait for nobody."""
        answers = [self._reduce(chunk, now) for chunk in sorted(self._pending) if self._is_ready(self._pending[chunk])]
        while not self.complete and self._first not in self._pending:
            if self._expected(self._first) & self._senders:
                break
            self._open(self._first)
            answers.append(self._reduce(self._first, now))
        return answers

    def _reduce(self, chunk: int, now: float) -> Answer:
        pending = self._pending.pop(chunk)
        mean = self._vectors.mean(self._share, chunk)
        contributors = self._add_up(chunk, pending.parts, mean)
        own = bool(contributors >> self._me & 1)
        payload = self._vectors.seal(self._share, chunk, samples=self._giving.together(contributors), own=own)
        self._contributors[chunk] = contributors
        while not self.complete and self._contributors[self._first] is not None:
            self._first += 1
            self._first_since = now
        if unanswered := self._audience & ~pending.heard:
            self._unanswered[chunk] = unanswered
            self._recent[chunk] = payload
            if len(self._recent) > self._window:
                self._recent.popitem(last=False)
        return Answer(chunk, contributors, payload, pending.heard & self._audience)

    def _add_up(self, chunk: int, parts: dict[int, memoryview], mean: NDArray[np.float32]) -> int:
        """Write the mean of all parts, mine among them, that are finite; returns whose they are."""
        if self._giving.gives(self._me, self._vectors.number(self._share, chunk)):
            parts = {**parts, self._me: memoryview(b"")}
        scratch = self._scratch[: mean.size]
        while True:
            contributors = sum(1 << member for member in parts)
            aggregate = WeightedMean(mean)
            for member, weight in self._giving.weights(contributors):
                self._read(member, chunk, parts, scratch)
                aggregate.add(scratch, weight)
            if aggregate.finish():
                return contributors
            finite = {m: part for m, part in parts.items() if self._is_finite(m, chunk, parts, scratch)}
            if len(finite) == len(parts):  # so large that the last rounding went beyond the largest number
                np.nan_to_num(mean, copy=False)
                return contributors
            parts = finite

    def _is_finite(self, member: int, chunk: int, parts: dict[int, memoryview], scratch: NDArray[np.float32]) -> bool:
        self._read(member, chunk, parts, scratch)
        finite = all_finite(scratch)
        if not finite:
            self._trace.mark("averaging.own_not_finite" if member == self._me else "averaging.drop.not_finite")
        return finite

    def _read(self, member: int, chunk: int, parts: dict[int, memoryview], out: NDArray[np.float32]) -> None:
        """Write the numbers of a member's part, mine as the others would read it; none where none can be read."""
        if member == self._me:
            self._vectors.own(self._share, chunk, out)
            return
        try:
            self._vectors.codec.decode_into(parts[member], out, self._vectors.span(self._share, chunk).start)
        except RemoteProblem:
            out.fill(np.nan)

    def _answer_late(self, chunk: int, bit: int) -> list[Answer]:
        unanswered = self._unanswered.get(chunk, 0)
        if not unanswered & bit:
            self._trace.mark("averaging.drop.duplicate")
            return []
        payload = self._recent.get(chunk)
        if payload is None:  # a mean that has been decoded is encoded to the same bytes again
            start = self._vectors.span(self._share, chunk).start
            payload = self._vectors.codec.encode(self._vectors.mean(self._share, chunk), start)
        self._unanswered[chunk] = unanswered & ~bit
        if not self._unanswered[chunk] & self._audience:
            self._all_answered(chunk)
        return [Answer(chunk, self._contributors[chunk] or 0, payload, bit)]

    def _all_answered(self, chunk: int) -> None:
        self._unanswered.pop(chunk, None)
        self._recent.pop(chunk, None)
