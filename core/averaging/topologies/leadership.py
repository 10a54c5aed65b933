"""What the leader of a round knows and decides.  It sends nothing itself."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from core.averaging.messages import VERSION_MAX, Order, Status, from_bits, to_bits
from core.averaging.plan import Plan
from core.base.trace import Trace

HEARTBEATS = 3.0
"""Orders in one stall timeout."""
RANK_SHIFT = 16
"""A leader of rank r gives versions from r << 16, so that no two leaders give the same one."""
COMPLAINTS_MAX = 64
"""Complaints of one member that are heard in a round."""


def quorum(plan: Plan, live: int) -> bool:
    """Whether the members `live` (bits) may commit: more than half, or exactly half with the plan's first leader.

    Two sides of a broken network can then not both end the round with different means.
    """
    twice = 2 * live.bit_count()
    return twice > len(plan.members) or (twice == len(plan.members) and bool(live >> plan.leaders[0] & 1))


@dataclass(slots=True)
class Leadership:
    """One leader's view of its round.

    Args:
        plan: The round's plan.
        rank: The leader's place among the plan's leaders.
        live: The members that are in (bits).
        versions: The version of each share.
        reducers: Who reduces each share.
        settled: False after a takeover: the versions are to be asked for first.
        now: When it began to lead, unix seconds.
        trace: Where misuse is marked.
    """

    plan: Plan
    rank: int
    live: int
    versions: list[int]
    reducers: list[int]
    settled: bool
    now: float
    trace: Trace
    order_at: float = 0.0
    """When the next order is to be sent; at once after a change, else as a heartbeat."""
    committed: tuple[int, ...] | None = None
    """Versions for which an earlier leader's Commit has been reported."""
    _number: int = 0
    _passed_on: int = 0
    _pinned: bool = False
    _complete: int = 0
    _reported: int = 0
    _holds: dict[int, tuple[int, ...] | None] = field(default_factory=dict)
    _heard_at: list[float] = field(default_factory=list)
    _complaints: list[int] = field(default_factory=list)
    _blamed: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        members = len(self.plan.members)
        self._heard_at = [self.now] * members
        self._passed_on = 0 if self.settled else -1
        self.order_at = self.now + self.plan.stall_timeout_s / HEARTBEATS
        self._complaints = [0] * members
        self._blamed = [0] * members

    @property
    def may_commit(self) -> bool:
        """Whether everybody who is in holds the result, and they are enough."""
        return self.settled and not self.live & ~self._complete and quorum(self.plan, self.live)

    @property
    def hopeless(self) -> bool:
        """Whether too few are left."""
        return not quorum(self.plan, self.live)

    def heard(self, member: int, now: float) -> None:
        """Some message came from `member`."""
        self._heard_at[member] = now

    def silent(self, now: float, *, me: int) -> list[int]:
        """Members of which nothing was heard for the stall timeout; each heartbeat asks for a word."""
        limit = now - self.plan.stall_timeout_s
        return [m for m in self.members() if m != me and self._heard_at[m] <= limit]

    def members(self) -> list[int]:
        """Who is in."""
        return [m for m in range(len(self.plan.members)) if self.live >> m & 1]

    def incomplete(self) -> list[int]:
        """Who is in and has not reported a complete result."""
        return [m for m in self.members() if not self._complete >> m & 1]

    def exclude(self, members: Iterable[int]) -> None:
        """Go on without `members`.  Their shares move when somebody who needs them complains."""
        gone = sum(1 << member for member in set(members)) & self.live
        if gone:
            self.live &= ~gone
            self._number += 1
            self._settle()

    def note(self, member: int, status: Status) -> None:
        """`member` (maybe the leader itself) says where it stands."""
        bit = 1 << member
        if not self._plausible(status):
            self.trace.mark("averaging.drop.status")
            return
        if status.committed:
            self.committed = status.versions
        if not self.live & bit:
            self.trace.mark("averaging.drop.status")
            return
        self._reported |= bit
        self._holds[member] = status.versions if status.complete else None
        self._adopt(status.versions, status.reducers)
        if not self.settled:  # whom an earlier leader has excluded stays out
            self.live &= from_bits(status.live) | bit
        self._complete &= ~bit
        if status.complete and list(status.versions) == self.versions:
            self._complete |= bit
        self._settle()

    def complain(self, member: int, share: int, version: int) -> None:
        """`member` gets no means of this version of the share: somebody else must give them.

        That is a member that holds them, if there is one; else the share is reduced anew by another, as a new version.
        """
        current = share < len(self.versions) and self.versions[share] == version
        if not (self.settled and current and self.live >> member & 1) or self._complaints[member] >= COMPLAINTS_MAX:
            self.trace.mark("averaging.drop.complaint")
            return
        self._complaints[member] += 1
        old = self.reducers[share]
        self._blamed[old] += 1
        holders = [
            m for m in self.members() if m not in {old, member} and self._complete >> m & 1 and self._receives(m)
        ]
        if not holders and self._pinned:
            return
        self.reducers[share] = min(
            holders or [m for m in self.members() if m != old] or [old], key=lambda m: self._reluctance(m, share)
        )
        self._number += 1
        if not holders:
            self.versions[share] = max(version + 1, self.rank << RANK_SHIFT)
            self._complete = 0

    def changed(self, now: float) -> bool:
        """Whether something was decided since the last call; if so, an order is due."""
        if self._number == self._passed_on:
            return False
        self._passed_on = self._number
        self.order_at = now
        return True

    def order(self, now: float) -> Order:
        """The picture now, for everybody."""
        self.order_at = now + self.plan.stall_timeout_s / HEARTBEATS
        return Order(
            self.plan.round,
            self.rank,
            self._number,
            self.settled,
            tuple(self.versions),
            tuple(self.reducers),
            to_bits(self.live),
        )

    def _receives(self, member: int) -> bool:
        return self.plan.members[member].receives

    def _reluctance(self, member: int, share: int) -> tuple[int, bool, float, int]:
        """The member for which this is the least is the best to take over a share."""
        load = sum(self.plan.chunks[index] for index, reducer in enumerate(self.reducers) if reducer == member)
        up = self.plan.lines[member].up if self.plan.lines else 0
        seconds = (load + self.plan.chunks[share]) / max(up, 1)
        return self._blamed[member], not self.plan.members[member].reduces, seconds, member

    def _plausible(self, status: Status) -> bool:
        members = len(self.plan.members)
        return (
            len(status.versions) == members
            and len(status.reducers) == members
            and max(status.reducers) < members
            and max(status.versions) < min((self.rank + 1) << RANK_SHIFT, VERSION_MAX)
        )

    def _adopt(self, versions: Sequence[int], reducers: Sequence[int]) -> None:
        for share, (version, reducer) in enumerate(zip(versions, reducers, strict=True)):
            if version > self.versions[share]:
                self.versions[share] = version
                self.reducers[share] = reducer
                self._complete = 0
                self._number += 1

    def _settle(self) -> None:
        """After a takeover, go on once everybody who is in has spoken.

        An earlier leader can have committed only the newest versions, and only if a quorum held them complete.  Unless
        those who do not hold them are enough to rule that out, the versions stay as they are.
        """
        if self.settled or self.live & ~self._reported:
            return
        self.settled = True
        self._number += 1
        newest = tuple(self.versions)
        lacking = sum(1 << member for member, versions in self._holds.items() if versions != newest)
        self._complete = self._reported & self.live & ~lacking
        self._pinned = quorum(self.plan, (1 << len(self.plan.members)) - 1 & ~lacking)
