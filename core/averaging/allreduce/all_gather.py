"""The means come back (all-gather): from their reducers, or where these lag from other members that hold them."""

import math
from typing import Final

from core.averaging.aggregators import all_finite
from core.averaging.allreduce.lane import Lane, Lanes
from core.averaging.allreduce.vectors import RoundContext
from core.averaging.failure_detector import FailureDetector, Stage, Timetable
from core.averaging.messages import Mean, Members, Part, from_bits
from core.base.problems import RemoteProblem
from core.codecs.codec import norm_of

REPEATED_MAX: Final = 2
"""A member gives again at most so many times the chunks of the whole vector in one round."""
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
        self.detector = FailureDetector(timetable, Stage.MEANS, patience_s=patience_s)
        self._repeated: set[tuple[int, int, int, int]] = set()
        self.repairing: Members = frozenset()
        """Members that this one, as the coordinator, gives means again."""
        self.holders: Members = frozenset()
        """Members that hold all means, as far as this one has been told."""
        self.late: Members = frozenset()
        """Reducers whose means did not come in time."""
        self.own_scaled = 0
        """Number of chunks in which this member's part was scaled down, as their reducers say."""
        self.gone: Members = frozenset()
        """Reducers whose link ended before all their means were here."""

    @property
    def stalled(self) -> Members:
        """Shares whose reducer is gone, or gives this member no means."""
        return frozenset(lane.share for lane in self._waiting() if lane.stalled)

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
        number = shares.numbers(share)[chunk]
        mean = vectors.mean(number)
        try:
            vectors.codec.decode_into(message.payload, mean, shares.plan.span(number).start)
        except RemoteProblem:
            trace.mark("averaging.drop.payload")
            return False
        norm = norm_of(mean)
        if not (math.isfinite(norm) or all_finite(mean)):  # squares of finite numbers may be too large for float32
            trace.mark("averaging.drop.not_finite")
            return False
        givers = from_bits(message.contributors) & shares.givers_of(number)
        bounded = vectors.may_be_norm(number, norm)
        if not bounded or not self._context.may_be_radius(message.radius, givers, mean.size):
            trace.mark("averaging.drop.radius" if bounded else "averaging.drop.norm")
            if member == lane.reducer:  # no parts have such a mean: another member makes it
                self.late |= {member}
                lane.stalled = True
            return False
        self.detector.moved(member, now)
        lane.arrive(chunk, givers, message.radius)
        lane.moved(member, now)
        self.own_scaled += self._context.me in from_bits(message.scaled)
        return True

    def without(self, members: Members) -> None:
        """Wait no longer for the means of members that are gone."""
        for lane in self._waiting():
            if lane.reducer in members:
                lane.lose_reducer()
                self.gone |= {lane.reducer}
            if lane.source in members:
                lane.source = None

    def replace(self, lane: Lane) -> None:
        """Another member is to make a share's means: its reducer was late if this member lacked them like others."""
        if lane.left and self.detector.is_awaited(lane.reducer):
            self.late |= {lane.reducer}

    def look(self, now: float, live: Members, *, waits_itself: bool) -> None:
        """Note which reducers are late, and ask other members for the means of those that lag.

        Args:
            now: Unix seconds.
            live: Members that may be asked.
            waits_itself: This member waits for parts itself; so may its reducers, and the timetable does not hold.
        """
        waiting, me = self._waiting(), self._context.me
        owing = frozenset(lane.reducer for lane in waiting)
        reducing = len({lane.reducer for lane in self._lanes if lane.count} - {me})
        anew = any(self._lanes.versions)  # no plan knows how long that takes
        few = not (waits_itself or anew) and self.detector.are_few(owing, of=reducing)
        self.detector.owe(owing, now, few=few)
        overdue = frozenset(self.detector.overdue(now))
        self.late |= overdue
        lagging = frozenset(lane.reducer for lane in waiting if self._lags(lane, now))
        if not self.detector.are_few(lagging - self.gone, of=reducing):  # else this member's own line is slow
            lagging &= self.gone
        others = sorted((self.holders or live) - {me})
        for lane in waiting:
            if lane.reducer in overdue and not lane.stalled:
                self._context.trace.mark("averaging.reducer_late")
                lane.stalled = True
            if lane.repaired and not lane.gone:
                continue
            if lane.reducer not in lagging:
                lane.source = None
            elif lane.source is None or now >= lane.asked_at + self._timetable.lag_s:
                candidates = [member for member in others if member != lane.reducer] or [lane.reducer]
                turn = candidates.index(lane.source) + 1 if lane.source in candidates else me + lane.share
                lane.ask(candidates[turn % len(candidates)], now)

    def requests(self) -> list[tuple[int, Part]]:
        """The requests that leave now for means that their reducers do not give, with the members to ask."""
        plan = self._context.shares.plan
        return [
            (lane.source, Part(plan.round, lane.share, lane.version, chunk, memoryview(b"")))
            for lane in self._lanes
            if lane.source is not None
            for chunk in lane.requests()
        ]

    def again(self, members: Members) -> None:
        """These members may ask for all means once more: they are to take this member's, as the coordinator's."""
        self.repairing |= members
        self._repeated = {key for key in self._repeated if key[0] not in members}

    def repeat(self, member: int, request: Part) -> list[tuple[int, Mean]]:
        """Give a mean of another's share again, each chunk once to each member that asks, and not without end.

        Args:
            member: The member that asks.
            request: Request of a version that is known here.
        """
        lane, shares = self._lanes[request.share], self._context.shares
        key = (member, request.share, request.version, request.chunk)
        most = REPEATED_MAX * shares.chunk_total
        full = len(self._repeated) >= most and member not in self.repairing
        if not lane.has(request.chunk) or key in self._repeated or full:
            self._context.trace.mark("averaging.drop.request")
            return []
        self._repeated.add(key)
        payload = self._context.vectors.encoded(shares.numbers(request.share)[request.chunk])
        return [(member, lane.mean(request.chunk, payload, request.round))]

    # --- inside ---

    def _waiting(self) -> list[Lane]:
        """The lanes in which this member waits for another's means."""
        return [lane for lane in self._lanes if self._receives and lane.left and lane.reducer != self._context.me]

    def _lags(self, lane: Lane, now: float) -> bool:
        """Whether a reducer is gone, or gives no mean for parts that have left, or has not given all in time."""
        silent = now >= lane.moved_at + self._timetable.lag_s + self._timetable.chunk_s(lane.count)
        late = now >= self._timetable.lags_at
        return lane.gone or (lane.unanswered > 0 and (silent or late))
