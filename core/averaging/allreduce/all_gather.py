"""The means come back (all-gather): from their reducers, or where these lag from other members that hold them."""

from collections.abc import Sequence
from typing import Final

from core.averaging.aggregators.aggregator import all_finite
from core.averaging.allreduce.lane import Lane, Lanes
from core.averaging.allreduce.sender import NOTHING
from core.averaging.allreduce.vectors import RoundContext
from core.averaging.failure_detector import FailureDetector, Stage, Timetable, is_few
from core.averaging.messages import Mean, Members, Part, from_bits
from core.base.problems import RemoteProblem

REDUCER_PATIENCE: Final = 2
"""A reducer has so many times the patience of a sender: it may itself have waited for one."""


class AllGather:
    """The means of one member's round, and the reducers that it waits for.

    Args:
        context: What the round works on.
        lanes: One for each share.
        timetable: When reducers are late.
    """

    def __init__(self, context: RoundContext, lanes: Lanes, timetable: Timetable) -> None:
        self._context = context
        self._lanes = lanes
        self._timetable = timetable
        self._receives = context.me in context.shares.receivers
        patience_s = REDUCER_PATIENCE * (timetable.stall_s + timetable.chunk_s(max(context.shares.counts)))
        self._detector = FailureDetector(timetable, Stage.MEANS, patience_s=patience_s)
        self.holders: Members = frozenset()
        """Members that hold all means, as far as this one has been told."""
        self.late: Members = frozenset()
        """Reducers whose means did not come in time."""
        self.gone: Members = frozenset()
        """Reducers whose link ended before all their means were here."""

    @property
    def stalled(self) -> Members:
        """Shares whose reducer is gone, or gives this member no means."""
        return frozenset(share for share, lane in self._waiting() if lane.stalled)

    def take(self, member: int, message: Mean, now: float) -> bool:
        """A mean, from the share's reducer or from the member that was asked for it.

        Returns:
            Whether it was missing, and is here now.
        """
        trace, vectors, shares = self._context.trace, self._context.vectors, self._context.shares
        share, chunk = message.share, message.chunk
        lane = self._lanes[share] if share < len(self._lanes) and self._receives else None
        if lane is None or chunk >= lane.count or message.version != lane.version or lane.has(chunk):
            trace.mark("averaging.drop.mean")
            return False
        if member not in {lane.reducer, lane.source} or lane.reducer == self._context.me:
            trace.mark("averaging.drop.sender")
            return False
        mean = vectors.mean(share, chunk)
        try:
            vectors.codec.decode_into(message.payload, mean, shares.span(share, chunk).start)
        except RemoteProblem:
            trace.mark("averaging.drop.payload")
            return False
        if not all_finite(mean):
            trace.mark("averaging.drop.not_finite")
            return False
        self._detector.moved(member, now)
        givers = shares.givers_of(shares.number(share, chunk))
        lane.arrive(chunk, from_bits(message.contributors) & givers, now, by=member)
        return True

    def without(self, members: Members) -> None:
        """Wait no longer for the means of members that are gone."""
        for _, lane in self._waiting():
            if lane.reducer in members:
                lane.lose_reducer()
                self.gone |= {lane.reducer}
            if lane.source in members:
                lane.source = None

    def look(self, now: float, live: Members, *, waits_itself: bool) -> None:
        """Note which reducers are late, and ask other members for the means of those that lag.

        Args:
            now: Unix seconds.
            live: Members that may be asked.
            waits_itself: This member waits for parts itself; so may its reducers, and the timetable is no measure.
        """
        waiting, me = self._waiting(), self._context.me
        owing = frozenset(lane.reducer for _, lane in waiting)
        reducing = len({lane.reducer for lane in self._lanes if lane.count} - {me})
        anew = any(self._lanes.versions)  # no plan knows how long that takes
        self._detector.owe(owing, now, few=not (waits_itself or anew) and is_few(owing, of=reducing))
        overdue = frozenset(self._detector.overdue(now))
        self.late |= overdue
        lagging = frozenset(lane.reducer for _, lane in waiting if self._lags(lane, now))
        if not is_few(lagging - self.gone, of=reducing):  # else this member's own line is slow
            lagging &= self.gone
        others = sorted((self.holders or live) - {me})
        for share, lane in waiting:
            if lane.reducer in overdue and not lane.stalled:
                self._context.trace.mark("averaging.reducer_late")
                lane.stalled = True
            if lane.reducer not in lagging:
                lane.source = None
            elif lane.source is None or now >= lane.asked_at + self._timetable.lag_s:
                candidates = [member for member in others if member != lane.reducer] or [lane.reducer]
                lane.ask(_next(candidates, lane.source, first=me + share), now)

    def requests(self) -> list[tuple[int, Part]]:
        """The requests that leave now for means that their reducers do not give."""
        plan = self._context.shares.plan
        return [
            (lane.source, Part(plan.round, share, lane.version, chunk, NOTHING))
            for share, lane in enumerate(self._lanes)
            if lane.source is not None
            for chunk in lane.requests()
        ]

    # --- inside ---

    def _waiting(self) -> list[tuple[int, Lane]]:
        """The lanes in which this member waits for another's means."""
        if not self._receives:
            return []
        return [
            (share, lane) for share, lane in enumerate(self._lanes) if lane.left and lane.reducer != self._context.me
        ]

    def _lags(self, lane: Lane, now: float) -> bool:
        """Whether a reducer is gone, or gives no mean for parts that have left, or has not given all in time."""
        silent = now >= lane.moved_at + self._timetable.lag_s + self._timetable.chunk_s(lane.count)
        late = now >= self._timetable.lags_at
        return lane.gone or (lane.unanswered > 0 and (silent or late))


def _next(members: Sequence[int], last: int | None, *, first: int) -> int:
    """The member after the last one that was asked, in turn."""
    return members[(members.index(last) + 1 if last in members else first) % len(members)]
