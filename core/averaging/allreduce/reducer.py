"""One version of one share at the member that reduces it: parts come in, means go out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from statistics import median_high
from typing import TYPE_CHECKING

from core.averaging.aggregators import PartFacts, norm_bound
from core.averaging.allreduce.lane import Lane
from core.averaging.allreduce.vectors import RoundContext
from core.averaging.distances import PartsSight
from core.averaging.failure_detector import FailureDetector, Stage, Timetable
from core.averaging.messages import Mean, Members
from core.base.arrays import np
from core.base.bounds import NORM_MAX
from core.base.problems import RemoteProblem
from core.codecs.codec import norm_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

Replies = list[tuple[int, Mean]]
"""Means, each with the member that is to get it."""


class Reducer:
    """Collects the parts of one version of one share, makes means, answers each member that asks.

    A chunk is reduced as soon as all expected parts are in, in the order of the plan's members and with this member's
    own part encoded like the others': so the mean depends on who is in it, and on nothing else.  Members that are
    dropped are no longer expected: chunks already reduced keep their parts, later ones go without.

    Args:
        context: What the round works on.
        lane: Lane of the share; it says which means are made, and how far a sender may be ahead of the first one.
        live: Members that are in.
        timetable: When senders are late.
    """

    def __init__(self, context: RoundContext, lane: Lane, *, live: Members, timetable: Timetable) -> None:
        shares, me = context.shares, context.me
        self._shares = shares
        self._lane = lane
        self._me = me
        self._vectors = context.vectors
        self._aggregator = context.aggregator
        self._trace = context.trace
        self._audience = (live & shares.receivers) - {me}
        self._planned = lane.version == 0  # no plan knows how long a share takes that is made anew
        patience_s = timetable.stall_s + timetable.chunk_s(lane.count)
        self.detector = FailureDetector(timetable, Stage.PARTS, patience_s=patience_s)
        self.senders = set((live & shares.givers) - {me})
        """Members whose parts are waited for."""
        self.pending: dict[int, dict[int, memoryview | None]] = {}
        """Members that have asked for the mean of a chunk that lacks parts, each with its part or None, by chunk; as
        many chunks as the window has, at most."""
        self._unanswered: dict[int, Members] = {}
        """Members that have not asked for the mean of a chunk, though it is made, by chunk."""
        self.own_scaled = 0
        """Number of chunks in which this member's own part was scaled down."""
        self.used: dict[int, Mapping[int, memoryview]] = {}
        """The parts in each mean, kept where means are proven; this member's own are empty."""
        self._proven = context.proven
        self._sight = PartsSight(context.distances, shares, lane.share)
        self._scratch = np.empty(min(shares.plan.chunk_numel, shares.plan.numel), dtype=np.float32)

    @property
    def complete(self) -> bool:
        """Whether every chunk of the share has its mean here, so that the reducer needs no more parts."""
        return not self._lane.left

    @property
    def awaited(self) -> Members:
        """Members whose part of the first open chunk is missing."""
        return frozenset() if self.complete else self._missing(self._lane.first_missing)

    def take(self, member: int, chunk: int, payload: memoryview, now: float) -> Replies:
        """Take in a part; where it is longer than any of its chunk, nothing of its sender counts any more.

        Args:
            member: Its sender.
            chunk: Within the share.
            payload: Empty where the member gives nothing to this chunk, or asks for its mean before its part is here.
            now: Unix seconds.

        Returns:
            Means that can be sent now.
        """
        if self._lane.has(chunk):
            self.detector.moved(member, now)
            return self._answer_late(member, chunk)
        if chunk >= self._lane.first_missing + self._lane.window:
            self._trace.mark("averaging.drop.window")
            return []
        pending = self.pending.setdefault(chunk, {})
        if member in pending:
            self._trace.mark("averaging.drop.duplicate")
            return []
        counts = member in self._missing(chunk)
        if counts and not payload.nbytes:  # it asks another holder, and its part is still on its way
            self._trace.mark("averaging.drop.request")
            return []
        self.detector.moved(member, now)
        pending[member] = None
        if counts and payload.nbytes > self._vectors.max_bytes(self._number(chunk)):
            self._trace.mark("averaging.drop.payload")
            self._sight.dropped([member])
            return self.drop(frozenset({member}))
        if counts:
            pending[member] = payload
        elif payload.nbytes:
            self._trace.mark("averaging.drop.late")
        return [] if self._missing(chunk) else self.advance()

    def drop(self, members: Members) -> Replies:
        """Wait no longer for the parts of members; they get means when they ask for them."""
        if not self.senders & members:
            return []
        self.senders -= members
        return self.advance()

    def look(self, now: float) -> Replies:
        """Leave senders behind that are overdue."""
        awaited, replies = self.awaited, Replies()
        few = self._planned and self.detector.are_few(awaited, of=len(self.senders))
        self.detector.owe(awaited, now, few=few)
        for member in self.detector.overdue(now):
            self._trace.mark("averaging.sender_late")
            replies += self.drop(frozenset({member}))
        return replies

    def advance(self) -> Replies:
        """Reduce every open chunk that lacks nothing, and those after them that wait for no member."""
        ready = [chunk for chunk in sorted(self.pending) if not self._missing(chunk)]
        replies = [reply for chunk in ready for reply in self._reduce(chunk)]
        while not self.complete and self._lane.first_missing not in self.pending and not self.awaited:
            replies += self._reduce(self._lane.first_missing)
        return replies

    def read(self, member: int, chunk: int, payload: memoryview) -> NDArray[np.float32]:
        """The numbers of a member's part, in memory that the next call overwrites; NaN where none can be read."""
        number = self._number(chunk)
        out = self._scratch[: self._vectors.mean(number).size]
        try:
            self._vectors.read(member, number, payload, out)
        except RemoteProblem:
            out.fill(np.nan)
        return out

    # --- inside ---

    def _number(self, chunk: int) -> int:
        return self._shares.numbers(self._lane.share)[chunk]

    def _missing(self, chunk: int) -> Members:
        """Members whose part of a chunk is waited for."""
        givers = self._shares.givers_of(self._number(chunk)) & self.senders
        return givers.difference(self.pending.get(chunk, ()))

    def _reduce(self, chunk: int) -> Replies:
        pending = self.pending.pop(chunk, {})
        given = {member: part for member, part in pending.items() if part is not None}
        contributors, scaled, radius = self._aggregate(chunk, given)
        if scaled:
            self._trace.mark("averaging.scaled")
        self.own_scaled += self._me in scaled
        self._sight.dropped(given.keys() - contributors)
        if contributors and chunk in self._sight.chunks:

            def read(member: int) -> NDArray[np.float32]:
                return self.read(member, chunk, given.get(member, memoryview(b"")))

            self._sight.look(read, contributors, scaled, (self._vectors.mean(self._number(chunk)), radius))
        payload = self._vectors.seal(self._number(chunk), contributors)
        self._lane.arrive(chunk, contributors, radius)
        if unanswered := self._audience - pending.keys():
            self._unanswered[chunk] = unanswered
        mean = self._lane.mean(chunk, payload, self._shares.plan.round, scaled=scaled)
        return [(member, mean) for member in sorted(self._audience & pending.keys())]

    def _aggregate(self, chunk: int, parts: dict[int, memoryview]) -> tuple[Members, Members, float]:
        """Write what becomes of all usable parts, this member's among them.

        Norms are measured while the parts pass by.  Only where one is too great, and the aggregator does not clip, the
        parts pass by once more.  A part of less than the median weight may be the larger for it: few samples are noisy,
        and residuals weigh.

        Returns:
            The members whose parts they are, those of them whose parts were scaled down or far off, and the common
            radius.
        """
        if self._shares.gives(self._me, self._number(chunk)):
            parts = {**parts, self._me: memoryview(b"")}
        mean, bounds = self._vectors.mean(self._number(chunk)), dict[int, float]()
        while parts:
            norms, radius = self._pass(chunk, parts, bounds)
            unusable = frozenset(member for member, norm in norms.items() if not norm <= NORM_MAX)
            if unusable:
                for member in unusable:
                    self._trace.mark("averaging.own_not_finite" if member == self._me else "averaging.drop.not_finite")
                parts = {member: part for member, part in parts.items() if member not in unusable}
                continue
            fits = norm_bound(norms.values(), typical=self._shares.typical(parts, mean.size))
            middle = median_high(self._shares.samples[member] for member in parts)
            most = {member: fits * max(1.0, middle / self._shares.samples[member]) for member in parts}
            scaled = frozenset(member for member, norm in norms.items() if norm > most[member])
            if not scaled or bounds or self._aggregator.clip:
                if self._proven:
                    self.used[chunk] = parts
                return frozenset(parts), scaled, radius
            bounds = most
        mean.fill(0)
        return frozenset(), frozenset(), 0.0

    def _pass(
        self, chunk: int, parts: Mapping[int, memoryview], bounds: Mapping[int, float]
    ) -> tuple[dict[int, float], float]:
        """Aggregate parts, each scaled down to the bound on its norm, if there is one.

        Returns:
            The norm that each member's part had, and the common radius of parts that are clipped.
        """
        members, weights = zip(*self._shares.weights(parts), strict=True)
        norms: dict[int, float] = {}

        def scaled() -> Iterator[NDArray[np.float32]]:
            for member in members:
                values = self.read(member, chunk, parts[member])
                norms[member] = norm = norm_of(values)
                if norm > bounds.get(member, math.inf):
                    values *= np.float32(bounds[member] / norm)
                yield values

        mean = self._vectors.mean(self._number(chunk))
        samples = [self._shares.plan.members[member].samples for member in members]
        typical = self._shares.typical(members, mean.size)
        radius = self._aggregator.aggregate(weights, scaled(), mean, PartFacts(samples, typical))
        return norms, radius

    def _answer_late(self, member: int, chunk: int) -> Replies:
        """Give a mean that is made to a member that has not asked for it before."""
        if member not in self._unanswered.get(chunk, ()):
            self._trace.mark("averaging.drop.duplicate")
            return []
        self._unanswered[chunk] -= {member}
        payload = self._vectors.encoded(self._number(chunk))
        return [(member, self._lane.mean(chunk, payload, self._shares.plan.round))]
