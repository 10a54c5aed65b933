"""One version of one share at the member that reduces it: parts come in, means go out."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from core.averaging.aggregators.aggregator import all_finite
from core.averaging.allreduce.vectors import RoundContext
from core.averaging.messages import Members
from core.base.problems import RemoteProblem


@dataclass(frozen=True, slots=True)
class MeanReply:
    """The encoded mean of a chunk, and the members that are to get it."""

    chunk: int
    contributors: Members
    payload: memoryview
    to: Members


@dataclass(slots=True)
class _Pending:
    """A chunk that still lacks parts."""

    missing: set[int]
    """Members whose parts are waited for."""
    heard: set[int] = field(default_factory=set)
    """Members that have asked for the mean, with a part or without."""
    parts: dict[int, memoryview] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Payloads:
    """The parts of a chunk as an aggregator takes them: decoded one after the other into the same memory."""

    reducer: "Reducer"
    chunk: int
    payloads: Mapping[int, memoryview]

    def __len__(self) -> int:
        return len(self.payloads)

    def __iter__(self) -> Iterator[tuple[float, NDArray[np.float32]]]:
        for member, weight in self.reducer.shares.weights(self.payloads):
            yield weight, self.reducer.read(member, self.chunk, self.payloads[member])


class Reducer:
    """Collects parts, makes means, answers each member that asks.

    A chunk is reduced as soon as all expected parts are in, in the order of the plan's members and with this member's
    own part encoded like the others': so the mean depends on who is in it, and on nothing else.  Members that are
    dropped are no longer expected: chunks already reduced keep their parts, later ones go without.

    Args:
        context: What the round works on.
        share: The share.
        live: Members that are in.
        window: Number of chunks that a sender may be ahead of the first one that is not reduced.
    """

    def __init__(self, context: RoundContext, share: int, *, live: Members, window: int) -> None:
        shares, me = context.shares, context.me
        self.shares = shares
        self._share = share
        self._me = me
        self._vectors = context.vectors
        self._aggregator = context.aggregator
        self._window = window
        self._trace = context.trace
        self._audience = set((live & shares.receivers) - {me})
        self.senders = set((live & shares.givers) - {me})
        """Members whose parts are waited for."""
        self._first = 0
        self._pending: dict[int, _Pending] = {}
        self._contributors: list[Members | None] = [None] * shares.counts[share]
        self._unanswered: dict[int, set[int]] = {}
        self._recent: OrderedDict[int, memoryview] = OrderedDict()
        """Payloads for those that ask late: the newest ones, of chunks for which some member has not asked."""
        self._scratch = np.empty(min(shares.plan.chunk_numel, shares.plan.numel), dtype=np.float32)

    @property
    def open_chunks(self) -> int:
        """Number of chunks that wait for parts; bounded by the window."""
        return len(self._pending)

    @property
    def held_bytes(self) -> int:
        """Payloads kept here: parts of open chunks, and means for which some member has not asked."""
        parts = sum(part.nbytes for pending in self._pending.values() for part in pending.parts.values())
        return parts + sum(payload.nbytes for payload in self._recent.values())

    @property
    def complete(self) -> bool:
        """Whether every chunk of the share has its mean here, so that the reducer needs no more parts."""
        return self._first >= len(self._contributors)

    @property
    def awaited(self) -> Members:
        """Members whose part of the first open chunk is missing."""
        if self.complete:
            return frozenset()
        pending = self._pending.get(self._first)
        givers = self.shares.givers_of(self.shares.number(self._share, self._first))
        return frozenset(pending.missing if pending is not None else givers & self.senders)

    def take(self, member: int, chunk: int, payload: memoryview) -> list[MeanReply]:
        """Take in a part.

        Args:
            member: Its sender.
            chunk: Within the share.
            payload: Empty where the member gives nothing to this chunk.

        Returns:
            Means that can be sent now.

        Raises:
            RemoteProblem: the payload is longer than any of the chunk; nothing of this member counts any more.
        """
        if self._contributors[chunk] is not None:
            return self._answer_late(member, chunk)
        if chunk >= self._first + self._window:
            self._trace.mark("averaging.drop.window")
            return []
        pending = self._pending.get(chunk) or self._open(chunk)
        if member in pending.heard:
            self._trace.mark("averaging.drop.duplicate")
            return []
        pending.heard.add(member)
        if member in pending.missing:
            if payload.nbytes > self._vectors.max_bytes(self._share, chunk):
                raise RemoteProblem("a part that is longer than any of its chunk")
            pending.missing.discard(member)
            pending.parts[member] = payload
        elif payload.nbytes:
            self._trace.mark("averaging.drop.late")
        return [] if pending.missing else self.advance()

    def drop(self, member: int) -> list[MeanReply]:
        """Wait no longer for the parts of a member; it gets means when it asks for them."""
        if member not in self.senders:
            return []
        self.senders.discard(member)
        for pending in self._pending.values():
            pending.missing.discard(member)
        return self.advance()

    def forget(self, member: int) -> list[MeanReply]:
        """Wait no longer for a member that is out of the round, and answer it no more."""
        self._audience.discard(member)
        for chunk in [*self._unanswered]:
            self._answered(chunk, member)
        return self.drop(member)

    def read(self, member: int, chunk: int, payload: memoryview) -> NDArray[np.float32]:
        """The numbers of a member's part, in memory that the next call overwrites; NaN where none can be read."""
        span = self.shares.span(self._share, chunk)
        out = self._scratch[: span.stop - span.start]
        try:
            self._vectors.read(member, self._share, chunk, payload, out)
        except RemoteProblem:
            out.fill(np.nan)
        return out

    def advance(self) -> list[MeanReply]:
        """Reduce every open chunk that lacks nothing, and those after them that wait for no member."""
        ready = [chunk for chunk, pending in self._pending.items() if not pending.missing]
        replies = [self._reduce(chunk) for chunk in sorted(ready)]
        while not self.complete and self._first not in self._pending and not self.awaited:
            self._open(self._first)
            replies.append(self._reduce(self._first))
        return replies

    # --- inside ---

    def _open(self, chunk: int) -> _Pending:
        givers = self.shares.givers_of(self.shares.number(self._share, chunk))
        pending = self._pending[chunk] = _Pending(set(givers & self.senders))
        return pending

    def _reduce(self, chunk: int) -> MeanReply:
        pending = self._pending.pop(chunk)
        contributors = self._aggregate(chunk, pending.parts)
        payload = self._vectors.seal(self._share, chunk, contributors)
        self._contributors[chunk] = contributors
        while not self.complete and self._contributors[self._first] is not None:
            self._first += 1
        if unanswered := self._audience - pending.heard:
            self._unanswered[chunk] = unanswered
            self._recent[chunk] = payload
            if len(self._recent) > self._window:
                self._recent.popitem(last=False)
        return MeanReply(chunk, contributors, payload, frozenset(pending.heard & self._audience))

    def _aggregate(self, chunk: int, parts: dict[int, memoryview]) -> Members:
        """Write what becomes of all parts, this member's among them, that are finite.

        Returns:
            The members whose parts they are.
        """
        if self.shares.gives(self._me, self.shares.number(self._share, chunk)):
            parts = {**parts, self._me: memoryview(b"")}
        mean = self._vectors.mean(self._share, chunk)
        while True:
            if not parts:
                mean.fill(0)
                return frozenset()
            self._aggregator.aggregate(_Payloads(self, chunk, parts), mean)
            if all_finite(mean):
                return frozenset(parts)
            finite = {member: part for member, part in parts.items() if self._is_finite(member, chunk, part)}
            if len(finite) == len(parts):  # so large that the last rounding went beyond the largest number
                np.nan_to_num(mean, copy=False)
                return frozenset(parts)
            parts = finite

    def _is_finite(self, member: int, chunk: int, payload: memoryview) -> bool:
        finite = all_finite(self.read(member, chunk, payload))
        if not finite:
            self._trace.mark("averaging.own_not_finite" if member == self._me else "averaging.drop.not_finite")
        return finite

    def _answer_late(self, member: int, chunk: int) -> list[MeanReply]:
        unanswered = self._unanswered.get(chunk)
        if unanswered is None or member not in unanswered:
            self._trace.mark("averaging.drop.duplicate")
            return []
        payload = self._recent.get(chunk) or self._vectors.encoded(self._share, chunk)
        self._answered(chunk, member)
        return [MeanReply(chunk, self._contributors[chunk] or frozenset(), payload, frozenset({member}))]

    def _answered(self, chunk: int, member: int) -> None:
        """Once all have asked, or are out, the payload of a mean is kept no longer."""
        self._unanswered[chunk].discard(member)
        if not self._unanswered[chunk]:
            del self._unanswered[chunk]
            self._recent.pop(chunk, None)
