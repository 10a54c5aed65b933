"""The data of a round: parts go to reducers, means come back.  Who reduces what is decided elsewhere."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from core.averaging.aggregators import all_finite
from core.averaging.allreduce.giving import Giving
from core.averaging.allreduce.lane import Lane
from core.averaging.allreduce.outflow import Outflow
from core.averaging.allreduce.patience import Patience, Versioned
from core.averaging.allreduce.reducer import Answer, Reducer
from core.averaging.allreduce.repeater import Repeater
from core.averaging.allreduce.tallies import Tallies
from core.averaging.allreduce.vectors import Vectors
from core.averaging.allreduce.windows import schedule_s, windows_of
from core.averaging.messages import Mean, Open, Part, Tally, from_bits, to_bits
from core.averaging.plan import Plan
from core.base.machine import Send, earliest
from core.base.problems import RemoteProblem
from core.base.trace import Trace

Sends = list[Send[Open | Part | Mean | Tally]]
ReducerStep = Callable[[Reducer | Repeater], list[Answer]]


class Exchange:
    """One member's lanes and reducers.  Methods return the messages to send.

    Nobody sends to a reducer before its Open, so nothing is lost on a member that has not received the plan or the
    order yet.  A first Open is answered with one's own, since that of whoever began earlier went unheard.

    Args:
        plan: The round's plan.
        me: My index in it.
        name: Of the plan (`plan_name`), for my Open.
        giving: Who gives what.
        vectors: Contribution, result and codec.
        trace: Where misuse is marked.
        hurried: See `Overtime`.
        usual: See `Remembered`.
    """

    def __init__(  # noqa: PLR0913 - all of it is the round's own context, fixed at birth
        self,
        plan: Plan,
        me: int,
        *,
        name: bytes,
        giving: Giving,
        vectors: Vectors,
        trace: Trace,
        hurried: int = 0,
        usual: float = 1.0,
    ) -> None:
        self._plan = plan
        self._name = name
        self._me = me
        self._giving = giving
        self._vectors = vectors
        self._trace = trace
        self._peers = plan.peers
        windows = windows_of(plan, vectors.codec)
        self._windows = windows.shares
        self.live = (1 << len(plan.members)) - 1
        """Members that are in, as far as I have been told (bits)."""
        self.receives = bool(giving.receivers >> me & 1)
        """Whether I need the means."""
        self.lanes = [
            Lane(count, reducer=share, window=windows.shares[share], now=0.0) for share, count in enumerate(plan.chunks)
        ]
        self._outflow = Outflow(self.lanes, me=me, parts=windows.parts, seconds=schedule_s(plan, vectors.codec))
        self._reducers: dict[int, Reducer | Repeater] = {}
        self._opened: dict[tuple[int, int], int] = {}
        self._greeted = 0
        self._tallies = Tallies(plan, me, giving=giving, trace=trace)
        self._incomplete = sum(1 for lane in self.lanes if not lane.complete)
        self._wake_at: float | None = None
        self._looks = True
        self.patience = Patience(
            plan,
            me,
            lanes=self.lanes,
            reducers=self._reducers,
            codec=vectors.codec,
            trace=trace,
            hurried=hurried,
            usual=usual,
        )
        self.gone = 0
        """Reducers whose link has ended before all their means were here (bits)."""
        self.payload_bytes = 0

    @property
    def complete(self) -> bool:
        """Whether the result holds a mean everywhere; without a result, whether all means are known to be made."""
        return not self._incomplete

    @property
    def versions(self) -> tuple[int, ...]:
        """The version of each share."""
        return tuple(lane.version for lane in self.lanes)

    @property
    def reducers(self) -> tuple[int, ...]:
        """Who reduces each share."""
        return tuple(lane.reducer for lane in self.lanes)

    @property
    def lacking(self) -> int:
        """How many means have not come yet."""
        return sum(lane.left for lane in self.lanes)

    @property
    def held_shares(self) -> frozenset[int]:
        """Of which I hold means."""
        held = range(len(self.lanes)) if self.receives else self._reducers.keys()
        return frozenset(share for share in held if self.lanes[share].count)

    def means(self, share: int) -> Iterator[NDArray[np.float32]]:
        """The means of a share that I hold, chunk by chunk."""
        return (self._vectors.mean(share, chunk) for chunk in range(self.lanes[share].count))

    @property
    def open_chunks(self) -> int:
        """Chunks that wait for parts here."""
        return sum(reducer.open_chunks for reducer in self._reducers.values())

    @property
    def held_bytes(self) -> int:
        """Payloads that are kept here."""
        return sum(reducer.held_bytes for reducer in self._reducers.values())

    def contributors(self, chunk: int) -> int:
        """Whose parts are in the mean of `chunk`, counted in the whole vector (bits); 0 while it is missing."""
        share = self._vectors.share_of(chunk)
        return self.lanes[share].contributors(chunk - self._vectors.number(share, 0))

    def settle(self) -> None:
        """The round is committed: what its codec has lost is carried on."""
        if self._vectors.carry is not None:
            bits = [lane.contributors(chunk) for lane in self.lanes for chunk in range(lane.count)]
            self._vectors.carry.commit([bool(given >> self._me & 1) for given in bits])

    def start(self, now: float) -> Sends:
        """Begin the shares that the plan gives me, and tell everybody."""
        self.patience.begin(now)
        for lane in self.lanes:
            lane.progress_at = now
        if self._plan.chunks[self._me]:
            return self._reduce(self._me, now)
        return self._greet(range(len(self._peers)))

    def on_open(self, member: int, message: Open, now: float) -> Sends:
        """`member` is there, and reduces what it says."""
        outputs: Sends = []
        if not self._greeted >> member & 1:
            self._greeted |= 1 << member
            outputs += self._greet([member])
            outputs += self._tallies.again(member, frozenset(self._reducers))
        for share, version in message.shares:
            if share >= len(self.lanes):
                self._trace.mark("averaging.drop.range")
                continue
            lane, known = self.lanes[share], self._opened.get((share, member), -1)
            self._opened[share, member] = max(version, known)
            if lane.reducer == member and lane.version == version > known:  # once: words alone are no progress
                lane.progress_at = max(lane.progress_at, now)
            self._consider(share)
        if self._greeted | 1 << self._me == self.live:
            for share, lane in enumerate(self.lanes):
                lane.warm_up()
                self._outflow.changed(share)
        return outputs + self._send_parts(now)

    def on_part(self, member: int, message: Part, now: float) -> Sends:
        """A part for a share that I reduce, or a late one."""
        reducer = self._reducers.get(message.share)
        if reducer is None or message.version != self.lanes[message.share].version:
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
        if share >= len(self.lanes) or chunk >= self.lanes[share].count or not self.receives:
            self._trace.mark("averaging.drop.range")
            return []
        lane = self.lanes[share]
        if message.version != lane.version:
            self._trace.mark("averaging.drop.stale")
            return []
        if member != lane.reducer or member == self._me:
            self._trace.mark("averaging.drop.sender")
            return []
        if lane.has(chunk):
            self._trace.mark("averaging.drop.duplicate")
            return []
        self.patience.count_means(now)
        result = self._vectors.mean(share, chunk)
        try:
            self._vectors.codec.decode_into(message.payload, result, self._vectors.span(share, chunk).start)
        except RemoteProblem:
            self._trace.mark("averaging.drop.payload")
            return []
        if not all_finite(result):
            self._trace.mark("averaging.drop.not_finite")
            return []
        self.payload_bytes += message.payload.nbytes
        givers = self._giving.givers_of(self._vectors.number(share, chunk))
        self._arrive(share, chunk, from_bits(message.contributors) & givers, now)
        return self._send_parts(now)

    def on_tally(self, member: int, message: Tally, now: float) -> None:
        """All means of a share are made, of which I get none."""
        if message.share >= len(self.lanes) or self.receives or len(message.present) != len(self._peers):
            self._trace.mark("averaging.drop.tally")
            return
        if self._tallies.hear(member, message, self.lanes[message.share], now):
            self._incomplete -= 1

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
            lane = self.lanes[share]
            if not lane.count:
                continue
            if version > lane.version:
                outputs += self._restart(share, version, reducer=reducer, now=now)
            elif version == lane.version and reducer != lane.reducer:
                outputs += self._redirect(share, reducer, now)
        return outputs + self._send_parts(now)

    def drop(self, member: int, now: float) -> Sends:
        """Nothing more will come from `member`: its remaining parts are missing."""
        for lane in self.lanes:
            if lane.reducer == member:
                self.gone |= 0 if lane.complete else 1 << member
                self._outflow.answered(lane.give_up())
        return self._each_reducer(lambda reducer: reducer.drop(member, now), now) + self._send_parts(now)

    def orphans(self, gone: int) -> list[tuple[int, int]]:
        """Shares (with versions) that I still need and whose reducer is among `gone` (bits)."""
        return [
            (share, lane.version)
            for share, lane in enumerate(self.lanes)
            if not lane.complete and gone >> lane.reducer & 1
        ]

    def tick(self, now: float) -> tuple[Sends, Versioned]:
        """Send what is due, drop senders that stall or are too slow; also which shares are to be complained about."""
        self._looks = True
        self.patience.count_means(now)
        outputs = self._leave(self.patience.too_slow(now), now)
        outputs += self._leave(self.patience.overdue(now), now)
        stalled = self.patience.stalled(now)
        return outputs + self._send_parts(now), stalled

    def _leave(self, behind: Iterable[tuple[int, int]], now: float) -> Sends:
        outputs: Sends = []
        for share, member in behind:
            self.patience.left(member, now)
            outputs += self._spread(share, self._reducers[share].drop(member, now), now)
        return outputs

    @property
    def deadline(self) -> float | None:
        """When a part leaves, or a sender or a reducer may be overdue; progress puts that off, as a tick finds out."""
        if self._looks:
            self._looks = False
            self._wake_at = self.patience.deadline
        return earliest(self._wake_at, self._outflow.again_at)

    # --- inside ---

    def _greet(self, members: Iterable[int]) -> Sends:
        mine = tuple(
            (share, self.lanes[share].version) for share in self._reducers if self.lanes[share].reducer == self._me
        )
        message = Open(self._plan.round, self._name, mine)
        return [Send(self._peers[m], message) for m in members if m != self._me and self.live >> m & 1]

    def _restart(self, share: int, version: int, *, reducer: int, now: float) -> Sends:
        lane = self.lanes[share]
        self._looks = True
        self._reducers.pop(share, None)
        self._incomplete += lane.complete and lane.count > 0
        if self._vectors.carry is not None:
            first = self._vectors.number(share, 0)
            self._vectors.carry.forget(range(first, first + lane.count))
        self._outflow.answered(lane.restart(version=version, reducer=reducer, now=now))
        self._consider(share)
        if reducer == self._me:
            return self._reduce(share, now)
        self._vectors.drop(share)
        self._incomplete -= self._tallies.begin(share, lane, now)
        return []

    def _redirect(self, share: int, reducer: int, now: float) -> Sends:
        lane = self.lanes[share]
        self._looks = True
        if reducer == self._me and not (lane.complete and self.receives):
            self._trace.mark("averaging.cannot_repeat")
            return []
        self._outflow.answered(lane.redirect(reducer, now))
        self._consider(share)
        if reducer != self._me:
            return []
        self._reducers[share] = Repeater(
            self._plan, share, contributors=lane.contributors, vectors=self._vectors, trace=self._trace
        )
        return self._greet(range(len(self._peers))) + self._tallies.of(share, lane, self.live)

    def _reduce(self, share: int, now: float) -> Sends:
        """Begin to reduce, and tell everybody."""
        self._vectors.hold(share)
        reducer = Reducer(
            plan=self._plan,
            share=share,
            me=self._me,
            live=self.live,
            giving=self._giving,
            vectors=self._vectors,
            window=self._windows[share],
            patience_s=self.patience.seconds[share],
            overtime=self.patience.overtime(share, now),
            trace=self._trace,
            now=now,
        )
        self._reducers[share] = reducer
        return self._greet(range(len(self._peers))) + self._spread(share, reducer.begin(now), now)

    def _forget(self, member: int, now: float) -> Sends:
        return self._each_reducer(lambda reducer: reducer.forget(member, now), now)

    def _each_reducer(self, step: ReducerStep, now: float) -> Sends:
        outputs: Sends = []
        for share, reducer in list(self._reducers.items()):
            outputs += self._spread(share, step(reducer), now)
        return outputs

    def _consider(self, share: int) -> None:
        """Parts of this share may be due, if its reducer waits for them and I need its mean."""
        lane = self.lanes[share]
        ready = self._opened.get((share, lane.reducer)) == lane.version
        lane.ready = ready and lane.reducer != self._me and self.receives
        self._outflow.changed(share)

    def _send_parts(self, now: float) -> Sends:
        outputs: Sends = []
        for share, chunk in self._outflow.leaving(now):
            lane = self.lanes[share]
            payload = memoryview(b"")
            made = lane.reducer != lane.maker  # who repeats means needs no part
            if not made and self._giving.gives(self._me, self._vectors.number(share, chunk)):
                payload = self._vectors.payload(share, chunk)
            self.payload_bytes += payload.nbytes
            part = Part(self._plan.round, share, lane.version, chunk, payload)
            outputs.append(Send(self._peers[lane.reducer], part, ahead=self._plan.paced))
        return outputs

    def _spread(self, share: int, answers: Sequence[Answer], now: float) -> Sends:
        outputs: Sends = []
        lane = self.lanes[share]
        complete = lane.complete
        for answer in answers:
            if not lane.has(answer.chunk):
                self._arrive(share, answer.chunk, answer.contributors, now)
            mean = Mean(
                self._plan.round, share, lane.version, answer.chunk, to_bits(answer.contributors), answer.payload
            )
            to = [member for member in range(len(self._peers)) if answer.to >> member & 1]
            self.payload_bytes += answer.payload.nbytes * len(to)
            outputs += [Send(self._peers[member], mean) for member in to]
        if lane.complete and not complete:
            outputs += self._tallies.of(share, lane, self.live)
        return outputs

    def _arrive(self, share: int, chunk: int, contributors: int, now: float) -> None:
        lane = self.lanes[share]
        self._outflow.answered(lane.arrive(chunk, contributors, now))
        self._outflow.changed(share)
        self._incomplete -= lane.complete
