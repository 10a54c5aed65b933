"""The data of a round: parts go to reducers, means come back.  Who reduces what is decided elsewhere."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from core.averaging.messages import Mean, Open, Part, from_bits, to_bits
from core.averaging.outcome import Outcome
from core.averaging.plan import Plan
from core.averaging.topologies.lane import Lane
from core.averaging.topologies.reducer import Answer, Reducer, Vectors
from core.averaging.topologies.repeater import Repeater
from core.base.ids import PeerId
from core.base.machine import Send, earliest
from core.base.problems import RemoteProblem
from core.base.trace import Trace

IN_FLIGHT_CHUNKS = 32
"""Parts on their way from one member to all others together, as a goal for `window_for`."""
WINDOW_MAX = 8
WINDOW_MIN = 2
Sends = list[Send[Open | Part | Mean]]
ReducerStep = Callable[[Reducer | Repeater], list[Answer]]
PATIENCE = 2.0
"""A reducer is given this many stall timeouts: it may itself have waited one for a sender."""


def window_for(members: int) -> int:
    """Chunks of one share that a sender may be ahead of the means: enough to fill a line, little to hold in memory."""
    return max(WINDOW_MIN, min(WINDOW_MAX, IN_FLIGHT_CHUNKS // max(members - 1, 1)))


class Exchange:
    """One member's lanes and reducers.  Methods return the messages to send.

    Nobody sends to a reducer before its Open, so nothing is lost on a member that has not received the plan or the
    order yet.  A first Open is answered with one's own, since that of whoever began earlier went unheard.

    Args:
        plan: The round's plan.
        me: My index in it.
        vectors: Contribution, result and codec.
        trace: Where misuse is marked.
    """

    def __init__(self, plan: Plan, me: int, *, vectors: Vectors, trace: Trace) -> None:
        self._plan = plan
        self._me = me
        self._vectors = vectors
        self._trace = trace
        self._peers = plan.peers
        self._window = window_for(len(plan.members))
        self.live = (1 << len(plan.members)) - 1
        """Members that are in, as far as I have been told (bits)."""
        self._first_chunks = tuple(plan.first_chunk(share) for share in range(len(plan.chunks)))
        self._lanes = [Lane(count, reducer=share, now=0.0) for share, count in enumerate(plan.chunks)]
        self._reducers: dict[int, Reducer | Repeater] = {}
        self._opened: dict[tuple[int, int], int] = {}
        self._greeted = 0
        self._incomplete = sum(1 for lane in self._lanes if not lane.complete)
        self.payload_bytes = 0

    @property
    def complete(self) -> bool:
        """Whether the result holds a mean everywhere."""
        return not self._incomplete

    @property
    def versions(self) -> tuple[int, ...]:
        """The version of each share."""
        return tuple(lane.version for lane in self._lanes)

    @property
    def reducers(self) -> tuple[int, ...]:
        """Who reduces each share."""
        return tuple(lane.reducer for lane in self._lanes)

    @property
    def open_chunks(self) -> int:
        """Accumulators in use."""
        return sum(reducer.open_chunks for reducer in self._reducers.values())

    def lacking(self, member: int) -> int:
        """In how many chunks of the result `member` has no part."""
        return sum(lane.lacking(member) for lane in self._lanes)

    def start(self, now: float) -> Sends:
        """Begin the shares that the plan gives me, and tell everybody."""
        for lane in self._lanes:
            lane.progress_at = now
        outputs = self._greet(range(len(self._peers)))
        if self._plan.chunks[self._me]:
            outputs += self._reduce(self._me, now)
        return outputs

    def on_open(self, member: int, message: Open, now: float) -> Sends:
        """`member` is there, and reduces what it says."""
        outputs: Sends = []
        if not self._greeted >> member & 1:
            self._greeted |= 1 << member
            outputs += self._greet([member])
        for share, version in message.shares:
            if share >= len(self._lanes):
                self._trace.mark("averaging.drop.range")
                continue
            self._opened[share, member] = max(version, self._opened.get((share, member), -1))
            lane = self._lanes[share]
            if lane.reducer == member and lane.version == version:
                lane.progress_at = max(lane.progress_at, now)
                outputs += self._send_parts(share)
        return outputs

    def on_part(self, member: int, message: Part, now: float) -> Sends:
        """A part for a share that I reduce, or a late one."""
        reducer = self._reducers.get(message.share)
        if reducer is None or message.version != self._lanes[message.share].version:
            self._trace.mark("averaging.drop.stale")
            return []
        if message.chunk >= reducer.count:
            self._trace.mark("averaging.drop.range")
            return []
        self.payload_bytes += message.payload.nbytes
        return self._spread(message.share, reducer.take(member, message.chunk, message.payload, now=now), now)

    def on_mean(self, member: int, message: Mean, now: float) -> Sends:
        """A mean from a share's reducer; the part that it makes room for may leave."""
        share, chunk = message.share, message.chunk
        if share >= len(self._lanes) or chunk >= self._lanes[share].count:
            self._trace.mark("averaging.drop.range")
            return []
        lane = self._lanes[share]
        if message.version != lane.version:
            self._trace.mark("averaging.drop.stale")
            return []
        if member != lane.reducer or member == self._me:
            self._trace.mark("averaging.drop.sender")
            return []
        if lane.has(chunk):
            self._trace.mark("averaging.drop.duplicate")
            return []
        span = self._plan.span(self._first_chunks[share] + chunk)
        result = self._vectors.result[span]
        try:
            self._vectors.codec.decode_into(message.payload, result, span.start)
        except RemoteProblem:
            self._trace.mark("averaging.drop.payload")
            return []
        if not np.isfinite(result).all():
            self._trace.mark("averaging.drop.not_finite")
            return []
        self.payload_bytes += message.payload.nbytes
        self._arrive(share, chunk, from_bits(message.contributors), now)
        return self._send_parts(share)

    def assign(self, versions: Sequence[int], reducers: Sequence[int], live: int, *, now: float) -> Sends:
        """Take over the leader's picture: newer versions, other reducers, and who is still in.

        Another reducer for the same version is one that holds its means and repeats them.
        """
        outputs: Sends = []
        for member in range(len(self._peers)):
            if self.live & ~live & 1 << member:
                outputs += self._forget(member, now)
        self.live &= live
        for share, (version, reducer) in enumerate(zip(versions, reducers, strict=True)):
            lane = self._lanes[share]
            if version > lane.version:
                outputs += self._restart(share, version, reducer=reducer, now=now)
            elif version == lane.version and reducer != lane.reducer:
                outputs += self._redirect(share, reducer, now)
        return outputs

    def drop(self, member: int, now: float) -> Sends:
        """Nothing more will come from `member`: its remaining parts are missing."""
        return self._each_reducer(lambda reducer: reducer.drop(member, now), now)

    def orphans(self, gone: int) -> list[tuple[int, int]]:
        """Shares (with versions) that I still need and whose reducer is among `gone` (bits)."""
        return [
            (share, lane.version)
            for share, lane in enumerate(self._lanes)
            if not lane.complete and gone >> lane.reducer & 1
        ]

    def tick(self, now: float) -> tuple[Sends, list[tuple[int, int]]]:
        """Drop senders that stall; also say which shares (with versions) have brought no mean for too long."""
        outputs: Sends = []
        for share, reducer in list(self._reducers.items()):
            for member in reducer.overdue(now):
                self._trace.mark("averaging.sender_stalled")
                outputs += self._spread(share, reducer.drop(member, now), now)
        stalled = []
        for share, lane in enumerate(self._lanes):
            if self._waits(lane) and lane.progress_at + self._patience_s <= now:
                lane.progress_at = now
                stalled.append((share, lane.version))
        return outputs, stalled

    @property
    def deadline(self) -> float | None:
        """When a sender or a reducer will be overdue."""
        waiting = (lane.progress_at + self._patience_s for lane in self._lanes if self._waits(lane))
        return earliest(min(waiting, default=None), *(reducer.deadline for reducer in self._reducers.values()))

    @property
    def _patience_s(self) -> float:
        return PATIENCE * self._plan.stall_timeout_s

    def _waits(self, lane: Lane) -> bool:
        return not lane.complete and lane.reducer != self._me

    def _greet(self, members: Iterable[int]) -> Sends:
        mine = tuple(
            (share, lane.version) for share, lane in enumerate(self._lanes) if lane.reducer == self._me and lane.count
        )
        message = Open(self._plan.round, mine)
        return [Send(self._peers[m], message) for m in members if m != self._me and self.live >> m & 1]

    def _restart(self, share: int, version: int, *, reducer: int, now: float) -> Sends:
        lane = self._lanes[share]
        self._reducers.pop(share, None)
        self._incomplete += lane.complete and lane.count > 0
        lane.restart(version=version, reducer=reducer, now=now)
        if reducer == self._me:
            return self._greet(range(len(self._peers))) + self._reduce(share, now)
        return self._send_parts(share)

    def _forget(self, member: int, now: float) -> Sends:
        return self._each_reducer(lambda reducer: reducer.forget(member, now), now)

    def _redirect(self, share: int, reducer: int, now: float) -> Sends:
        lane = self._lanes[share]
        if reducer != self._me:
            lane.redirect(reducer, now)
            return self._send_parts(share)
        if not lane.complete:
            self._trace.mark("averaging.cannot_repeat")
            return []
        lane.redirect(reducer, now)
        self._reducers[share] = Repeater(
            self._plan, share, contributors=lane.contributors, vectors=self._vectors, trace=self._trace
        )
        return self._greet(range(len(self._peers)))

    def _reduce(self, share: int, now: float) -> Sends:
        reducer = Reducer(
            plan=self._plan,
            share=share,
            me=self._me,
            live=self.live,
            vectors=self._vectors,
            window=self._window,
            trace=self._trace,
            now=now,
        )
        self._reducers[share] = reducer
        return self._spread(share, reducer.begin(now), now)

    def _each_reducer(self, step: ReducerStep, now: float) -> Sends:
        outputs: Sends = []
        for share, reducer in list(self._reducers.items()):
            outputs += self._spread(share, step(reducer), now)
        return outputs

    def _send_parts(self, share: int) -> Sends:
        lane = self._lanes[share]
        if lane.reducer == self._me or self._opened.get((share, lane.reducer)) != lane.version:
            return []
        outputs: Sends = []
        first = self._first_chunks[share]
        silent = self._plan.members[self._me].samples == 0
        for chunk in lane.due(self._window):
            span = self._plan.span(first + chunk)
            values = self._vectors.contribution[span]
            payload = memoryview(b"") if silent else self._vectors.codec.encode(values, span.start)
            self.payload_bytes += payload.nbytes
            part = Part(self._plan.round, share, lane.version, chunk, payload)
            outputs.append(Send(self._peers[lane.reducer], part))
        return outputs

    def _spread(self, share: int, answers: Sequence[Answer], now: float) -> Sends:
        outputs: Sends = []
        lane = self._lanes[share]
        for answer in answers:
            if not lane.has(answer.chunk):
                self._arrive(share, answer.chunk, answer.contributors, now)
            mean = Mean(
                self._plan.round, share, lane.version, answer.chunk, to_bits(answer.contributors), answer.payload
            )
            to = [member for member in range(len(self._peers)) if answer.to >> member & 1]
            self.payload_bytes += answer.payload.nbytes * len(to)
            outputs += [Send(self._peers[member], mean) for member in to]
        return outputs

    def _arrive(self, share: int, chunk: int, contributors: int, now: float) -> None:
        lane = self._lanes[share]
        lane.arrive(chunk, contributors, now)
        self._incomplete -= lane.complete


def outcome_of(plan: Plan, exchange: Exchange, *, seconds: float) -> Outcome:
    """What a committed round came to; a function of the plan and of what the means say about their contributors."""
    lacking = [exchange.lacking(member) for member in range(len(plan.members))]
    total = plan.chunk_total
    givers = [m for m, missed in zip(plan.members, lacking, strict=True) if m.samples and missed < total]
    samples = sum(member.samples for member in givers)
    return Outcome(
        round=plan.round,
        versions=exchange.versions,
        contributors=tuple((PeerId(member.peer), member.samples) for member in givers),
        missing=tuple(
            (PeerId(member.peer), missed)
            for member, missed in zip(plan.members, lacking, strict=True)
            if member.samples and missed
        ),
        chunk_total=total,
        samples=samples,
        loss=sum(member.loss * member.samples for member in givers) / samples if samples else 0.0,
        seconds=seconds,
        payload_bytes=exchange.payload_bytes,
    )
