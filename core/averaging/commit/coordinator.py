"""What the coordinator of a round decides.  It sends nothing itself."""

from collections.abc import Sequence
from typing import Final

from core.averaging.allreduce.share_map import ShareMap
from core.averaging.commit.assignment import Assignment, judge
from core.averaging.commit.messages import Commit, Order, Status
from core.averaging.commit.phases import COORDINATOR, Cue, Phase, Standing
from core.averaging.commit.reports import Reports
from core.averaging.failure_detector import FailureDetector, Stage, Timetable
from core.averaging.messages import Members, from_bits, to_bits
from core.base.machine import earliest
from core.base.trace import Trace

HEARTBEATS: Final = 3
"""Number of orders in one stall timeout."""


def coordinators(shares: ShareMap) -> list[int]:
    """The members that may coordinate, in their order: helpers hold no means, so they do not."""
    return [member for member in shares.plan.leaders if member in shares.receivers]


def quorum(shares: ShareMap, live: Members) -> bool:
    """Whether these members may commit: more than half, or exactly half with the first coordinator.

    Two sides of a broken network can then not both end the round with different means.
    """
    twice, members = 2 * len(live), len(shares.everybody)
    return twice > members or (twice == members and coordinators(shares)[0] in live)


class Coordinator:
    """One coordinator's side of a round (`commit.phases`).

    Args:
        shares: The plan's division.
        start: Its own Status: its rank, what it knows of the shares, and the members that are in.
        timetable: When members are late.
        vote_ignored: Members for whose vote alone no share is made anew, because of rounds before.
        trace: Counts misuse.
        now: When it begins, unix seconds.
    """

    def __init__(
        self, shares: ShareMap, start: Status, *, timetable: Timetable, vote_ignored: Members, trace: Trace, now: float
    ) -> None:
        self._shares = shares
        self._rank = start.rank
        self._me = coordinators(shares)[start.rank]
        self._timetable = timetable
        self._ignored = vote_ignored
        self._trace = trace
        self.assignment = Assignment(shares, start.rank, start.versions, start.reducers)
        self.reports = Reports(shares, self.assignment, start, self._me)
        self.standing = Standing(COORDINATOR, Phase.TAKING_OVER if start.rank else Phase.COLLECTING)
        self.changes = 0
        """Counts what was decided."""
        self.slow = self.differed = self.doubted = frozenset[int]()
        """Members that all others waited for; that voted, with few others, for other means; that made these."""
        self._apart: Members = frozenset()
        self._pinned = False
        self._order_at = now if start.rank else now + timetable.stall_s / HEARTBEATS
        self._overslept_until = now
        self._silence = FailureDetector(timetable, Stage.COMPLETE, patience_s=timetable.stall_s)
        self._late = FailureDetector(timetable, Stage.COMPLETE, patience_s=timetable.stall_s)

    @property
    def deadline(self) -> float | None:
        """When to send the next order, or to look for members that are late; unix seconds."""
        return earliest(self._order_at, self._silence.deadline, self._late.deadline)

    def heard(self, member: int, now: float) -> None:
        """Some message came from a member."""
        self._silence.moved(member, now)
        if now > self._order_at + self._timetable.stall_s / (2 * HEARTBEATS):
            self._overslept_until = now + self._timetable.stall_s

    def overslept(self, now: float) -> bool:
        """Whether the others had reason of late to take this coordinator for gone: it woke too late for its order."""
        return now < self._overslept_until

    def note(self, member: int, status: Status, now: float) -> None:
        """A member, maybe the coordinator itself, says where it stands."""
        before = self.reports.lacking(member)
        if not self.reports.note(member, status):
            self._trace.mark("averaging.drop.status")
            return
        if status.lacking < before:
            self._late.moved(member, now)
        if self.standing.phase is Phase.TAKING_OVER:  # members that an earlier coordinator has excluded stay out
            self.assignment.adopt(status.versions, status.reducers)
            self.reports.live &= from_bits(status.live) | {member}

    def exclude(self, members: Members) -> None:
        """Members leave the round; if any of them was in, a new Order is due at once."""
        if members & self.reports.live:
            self.reports.live -= members
            self._changed()

    def step(self, now: float) -> None:
        """Do what follows from all that is known, and from the time."""
        self._watch(now)
        standing, reports = self.standing, self.reports
        if not quorum(self._shares, reports.live):
            standing.advance(Cue.TOO_FEW)
        if standing.phase is Phase.TAKING_OVER and reports.complete:
            self._settle()
        if standing.phase is Phase.COLLECTING:
            self._remake(reports.hopeless())
            if not reports.undone:
                self._prepare(reports.new_key())
        if standing.phase is Phase.PREPARING and not reports.undone:
            votes = reports.votes
            if len(set(votes.values())) > 1:
                self._judge(votes)
            else:
                standing.advance(Cue.AGREED)

    def order(self, now: float) -> Order | None:
        """The round as it stands, when it is to be said: after a change, or as a heartbeat."""
        if now < self._order_at:
            return None
        self._order_at = now + self._timetable.stall_s / HEARTBEATS
        return Order(
            self._shares.plan.round,
            self._rank,
            self.changes,
            self.standing.phase is not Phase.TAKING_OVER,
            self.assignment.versions,
            self.assignment.reducers,
            to_bits(self.reports.live),
            self.reports.key,
            to_bits(self.reports.holders),
        )

    def commit(self, present: Sequence[int]) -> Commit:
        """What all members hold.

        Args:
            present: For each member the number of chunks of the mean that hold its part.
        """
        round_, fingerprints = self._shares.plan.round, next(iter(self.reports.votes.values()))
        return Commit(round_, self._rank, self.assignment.versions, self.reports.key, fingerprints, tuple(present))

    # --- inside ---

    def _changed(self) -> None:
        self.changes += 1
        self._order_at = 0.0

    def _watch(self, now: float) -> None:
        """Leave members behind that are silent, or late while most hold all means."""
        reports = self.reports
        self._silence.owe(reports.live - {self._me}, now, few=False)
        undone = reports.undone - {self._me}
        most = len(reports.holders) >= len(undone) and quorum(self._shares, reports.live - undone)
        waits = most and self.standing.phase is not Phase.TAKING_OVER
        self._late.owe(undone if waits else frozenset(), now, few=True)
        late = frozenset(self._late.overdue(now))
        self.slow |= late
        self.exclude(late | frozenset(self._silence.overdue(now)))

    def _prepare(self, key: tuple[bytes, ...]) -> None:
        self.reports.key = key
        self.standing.advance(Cue.COMPLETE)
        self._changed()

    def _settle(self) -> None:
        """After a takeover, all members have reported.

        A predecessor can have committed only the newest versions, and only if a quorum had voted for them.  Unless
        those that have not are enough to rule that out, the versions stay as they are, and so does the key.
        """
        self.standing.advance(Cue.REPORTED)
        voted, key = self.reports.earlier_key()
        self._pinned = quorum(self._shares, self._shares.everybody - self.reports.not_voted(voted))
        if self._pinned and not self.reports.undone and key:
            self._prepare(key)
        self._changed()

    def _remake(self, shares: Sequence[int]) -> None:
        """Have the means of shares made anew by other members; never such as may be committed already."""
        if shares and not self._pinned:
            for share in shares:
                self.assignment.remake(share, self.reports.live)
            self.reports.key = ()
            self.standing.advance(Cue.REMADE)
            self._changed()

    def _judge(self, votes: dict[int, tuple[bytes, ...]]) -> None:
        """All have voted, and not all the same."""
        self._trace.mark("averaging.means_differ")
        makers = self.assignment.reducers
        verdict = judge(votes, makers, twice=self._apart, ignored=self._ignored, pinned=self._pinned)
        apart = verdict.apart
        if 2 * len(apart) < len(votes) or (2 * len(apart) == len(votes) and self._me not in apart):
            self.differed |= apart - self._ignored
        self._apart |= apart
        self.doubted |= verdict.doubted
        self._remake(verdict.remade)
        self.exclude(verdict.excluded)
