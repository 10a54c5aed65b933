"""The shares that one member reduces for all, and the means that it gives again to members that lack them."""

from typing import Final

from core.averaging.allreduce.lane import Lane
from core.averaging.allreduce.reducer import MeanReply, Reducer
from core.averaging.allreduce.vectors import RoundContext
from core.averaging.allreduce.windows import Windows
from core.averaging.failure_detector import FailureDetector, Stage, Timetable, is_few
from core.averaging.messages import Members, Part
from core.base.problems import RemoteProblem

REPEATED_MAX: Final = 2
"""A member gives again at most so many times the chunks of the whole vector in one round."""

Replies = list[tuple[int, MeanReply]]
"""Means with their shares."""


class Reducers:
    """Holds a reducer, and a failure detector of its senders, for each share that this member reduces.

    Args:
        context: What the round works on.
        windows: How far parts may be ahead of means.
        timetable: When senders are late.
    """

    def __init__(self, context: RoundContext, windows: Windows, timetable: Timetable) -> None:
        self._context = context
        self._windows = windows
        self._timetable = timetable
        self._of: dict[int, tuple[Reducer, FailureDetector]] = {}
        self._anew: Members = frozenset()
        self._repeated: set[tuple[int, int, int, int]] = set()
        self.slow: Members = frozenset()
        """Senders that were left behind."""

    @property
    def shares(self) -> list[int]:
        """The shares that this member reduces."""
        return list(self._of)

    @property
    def waiting(self) -> bool:
        """Whether any of them waits for parts."""
        return any(not reducer.complete for reducer, _ in self._of.values())

    @property
    def open_chunks(self) -> int:
        """Number of chunks that wait for parts here; bounded by the windows."""
        return sum(reducer.open_chunks for reducer, _ in self._of.values())

    @property
    def held_bytes(self) -> int:
        """Payloads kept here, besides the vectors."""
        return sum(reducer.held_bytes for reducer, _ in self._of.values())

    def begin(self, share: int, live: Members, *, anew: bool = False) -> Replies:
        """Reduce a share for the members that are in; no plan knows how long that takes `anew`."""
        self._context.vectors.hold(share)
        reducer = Reducer(self._context, share, live=live, window=self._windows.shares[share])
        patience_s = self._timetable.stall_s + self._timetable.chunk_s(self._context.shares.counts[share])
        self._of[share] = reducer, FailureDetector(self._timetable, Stage.PARTS, patience_s=patience_s)
        self._anew |= {share} if anew else frozenset()
        return self._of_share(share, reducer.advance())

    def end(self, share: int) -> None:
        """Another member reduces a share, as another version."""
        self._of.pop(share, None)

    def take(self, member: int, part: Part, lane: Lane, now: float) -> Replies:
        """A part of a share that this member reduces, or the request for a mean that it holds.

        Args:
            member: Its sender.
            part: Of the version of `lane`.
            lane: Of the share.
            now: Unix seconds.
        """
        if part.share not in self._of:
            return self._repeat(member, part, lane)
        reducer, detector = self._of[part.share]
        detector.moved(member, now)
        try:
            return self._of_share(part.share, reducer.take(member, part.chunk, part.payload))
        except RemoteProblem:
            self._context.trace.mark("averaging.drop.payload")
            return self._of_share(part.share, reducer.drop(member))

    def drop(self, member: int) -> Replies:
        """Nothing more comes from a member: wait no longer for its parts."""
        return [reply for share, (r, _) in self._of.items() for reply in self._of_share(share, r.drop(member))]

    def forget(self, member: int) -> Replies:
        """A member is out of the round: wait no longer for it, and answer it no more."""
        return [reply for share, (r, _) in self._of.items() for reply in self._of_share(share, r.forget(member))]

    def look(self, now: float) -> Replies:
        """Leave senders behind that are overdue."""
        replies: Replies = []
        for share, (reducer, detector) in self._of.items():
            awaited = reducer.awaited
            detector.owe(awaited, now, few=share not in self._anew and is_few(awaited, of=len(reducer.senders)))
            for member in detector.overdue(now):
                self._context.trace.mark("averaging.sender_late")
                self.slow |= {member}
                detector.grant(now)
                replies += self._of_share(share, reducer.drop(member))
        return replies

    # --- inside ---

    def _repeat(self, member: int, part: Part, lane: Lane) -> Replies:
        """Give a mean again, each chunk once to each member that asks, and not without end."""
        request = (member, part.share, part.version, part.chunk)
        most = REPEATED_MAX * self._context.shares.chunk_total
        if not lane.has(part.chunk) or request in self._repeated or len(self._repeated) >= most:
            self._context.trace.mark("averaging.drop.request")
            return []
        self._repeated.add(request)
        payload = self._context.vectors.encoded(part.share, part.chunk)
        reply = MeanReply(part.chunk, lane.contributors(part.chunk), payload, frozenset({member}))
        return [(part.share, reply)]

    @staticmethod
    def _of_share(share: int, replies: list[MeanReply]) -> Replies:
        return [(share, reply) for reply in replies]
