"""Which coordinator a member follows, and which one is next when that falls silent."""

from typing import Final

import msgspec

from core.averaging.allreduce.vectors import RoundContext
from core.averaging.commit.coordinator import Coordinator, coordinators
from core.averaging.commit.messages import Order, Status
from core.averaging.failure_detector import Timetable
from core.averaging.messages import Members, to_bits

QUIET_PART: Final = 2
"""A coordinator is quiet, so that others are heard in its place, after one part in so many of the stall timeout."""


class Succession:
    """The ranked coordinators of a round as one member sees them: followed, awaited, lost.

    Args:
        context: What the round works on.
        timetable: Of the round.
        vote_ignored: Members for whose vote alone no share is made anew.
    """

    def __init__(self, context: RoundContext, timetable: Timetable, vote_ignored: Members) -> None:
        self._context = context
        self._timetable = timetable
        self._ignored = vote_ignored
        self.order = coordinators(context.shares)
        """Members in the order in which they coordinate."""
        self.rank = 0
        """Of the coordinator that is followed."""
        self.lost: Members = frozenset()
        """Members to which the link has ended."""
        self.given_up: Members = frozenset()
        """Coordinators that fell silent."""
        self.mine: Coordinator | None = None
        """While this member coordinates."""
        self._heard_at = timetable.began_at
        self._awaited = self._number = 0

    @property
    def leader(self) -> int:
        """The coordinator whose orders this member obeys; `awaited` may already be a later one."""
        return self.order[self.rank]

    @property
    def awaited(self) -> int:
        """The member that should coordinate: the one that is followed, or after its failure a later one."""
        return self.order[self._awaited]

    @property
    def silent_at(self) -> float:
        """When the awaited coordinator has been silent for too long, unix seconds."""
        return self._heard_at + self._timetable.stall_s

    def heard(self, member: int, now: float) -> None:
        """Some message came from a member."""
        if self.mine is not None:
            self.mine.heard(member, now)
        elif member == self.awaited:
            self._heard_at = now

    def is_ranked(self, member: int, rank: int) -> bool:
        """Whether a coordinator of this rank is that member."""
        return rank < len(self.order) and self.order[rank] == member

    def is_news(self, member: int, order: Order) -> bool:
        """Whether an order is from its rank's coordinator, and not older than the newest."""
        return self.is_ranked(member, order.rank) and (order.rank, order.number) >= (self.rank, self._number)

    def is_quiet(self, now: float) -> bool:
        """Whether the coordinator is lost, given up, or silent for longer than its orders are apart."""
        if self.mine is not None:
            return self.mine.overslept(now)
        gone = self._awaited != self.rank or self.leader in self.lost
        return gone or now >= self._heard_at + self._timetable.stall_s / QUIET_PART

    def follow(self, order: Order, now: float) -> None:
        """Follow the coordinator of an order, whatever was suspected of it."""
        self.rank = self._awaited = order.rank
        self._number, self._heard_at, self.mine = order.number, now, None

    def give_up(self, now: float) -> bool:
        """Give the awaited coordinator up, and await the next that can be reached.

        Returns:
            Whether there is one.
        """
        self.given_up |= {self.awaited}
        left = [rank for rank in range(self._awaited + 1, len(self.order)) if self.order[rank] not in self.lost]
        if left:
            self._awaited, self._heard_at = left[0], now
        return bool(left)

    def lead(self) -> None:
        """This member is the one that is awaited."""
        self.rank, self._number = self._awaited, 0

    def take_over(self, status: Status, now: float) -> None:
        """Begin to coordinate.

        Args:
            status: Where this member stands.
            now: Unix seconds.
        """
        live = self._context.shares.everybody - self.lost - self.given_up
        start = msgspec.structs.replace(status, live=to_bits(live))
        self.mine = Coordinator(
            self._context.shares,
            start,
            timetable=self._timetable,
            vote_ignored=self._ignored,
            trace=self._context.trace,
            now=now,
        )
