"""What the coordinator of a round knows and decides.  It sends nothing itself."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

from core.averaging.allreduce.share_map import ShareMap
from core.averaging.commit.phases import COORDINATOR, Cue, Phase, Standing
from core.averaging.failure_detector import FailureDetector, Stage, Timetable
from core.averaging.messages import Commit, Members, Order, Status, from_bits, to_bits
from core.base.machine import earliest
from core.base.trace import Trace

HEARTBEATS: Final = 3
"""Number of orders in one stall timeout."""
RANK_SHIFT: Final = 16
"""A coordinator of rank r gives versions from r << 16 on, so that no two coordinators give the same one."""
WITNESSES: Final = 2
"""Number of members that must miss a reducer's means before these are made anew, which costs all what they have."""


def coordinators(shares: ShareMap) -> list[int]:
    """The members that may coordinate, in their order: helpers hold no means, so they do not."""
    return [member for member in shares.plan.leaders if member in shares.receivers]


def quorum(shares: ShareMap, live: Members) -> bool:
    """Whether these members may commit: more than half, or exactly half with the first coordinator.

    Two sides of a broken network can then not both end the round with different means.
    """
    twice, members = 2 * len(live), len(shares.everybody)
    return twice > members or (twice == members and coordinators(shares)[0] in live)


def divides(shares: ShareMap, word: Order | Status) -> bool:
    """Whether a message has a version and a reducer for each share of the plan."""
    members = len(shares.counts)
    return len(word.versions) == len(word.reducers) == members and max(word.reducers) < members


def is_planned(shares: ShareMap, commit: Commit) -> bool:
    """Whether a Commit has a version for each share, and has each member in no more chunks than that was to give."""
    members = len(shares.counts)
    fits = len(commit.versions) == len(commit.present) == members
    return fits and all(chunks <= shares.planned(member) for member, chunks in enumerate(commit.present))


class Reports:
    """What a coordinator has been told: who makes which means, the newest Status of each member, and what follows.

    Args:
        shares: The plan's division.
        rank: The coordinator's.
        live: Members that are in.
    """

    def __init__(self, shares: ShareMap, rank: int, live: Members) -> None:
        self._shares = shares
        self._rank = rank
        self._me = coordinators(shares)[rank]
        self._of: dict[int, Status] = {}
        self._tried: list[Members] = [frozenset()] * len(shares.counts)
        self.versions = (0,) * len(shares.counts)
        """Of each share."""
        self.reducers = tuple(range(len(shares.counts)))
        """Of each share."""
        self.live = live
        self.key: tuple[bytes, ...] = ()
        """The nonces under which votes are asked for; empty before."""

    def note(self, member: int, status: Status) -> bool:
        """Keep a member's word.

        Returns:
            Whether it is in, and its word fits the plan; else nothing is kept.
        """
        if member not in self.live or not divides(self._shares, status):
            return False
        self._of[member] = status
        return True

    def adopt(self) -> None:
        """Take over the newest versions that members report and an earlier coordinator can have ordered."""
        for share in (share for share, count in enumerate(self._shares.counts) if count):
            words = [(self._of[m].versions[share], m == self._me, self._of[m].reducers[share]) for m in self.live]
            version, _, reducer = max(word for word in words if word[0] < self._rank << RANK_SHIFT)
            self._set(share, version, reducer)

    @property
    def complete(self) -> bool:
        """Whether all members that are in have reported."""
        return self.live <= self._of.keys()

    @property
    def needing(self) -> Members:
        """Members that are in and need the means."""
        return self.live & self._shares.receivers

    @property
    def current(self) -> Members:
        """Those of them that have the versions that count."""
        return frozenset(m for m in self.needing & self._of.keys() if self._of[m].versions == self.versions)

    @property
    def holders(self) -> Members:
        """Those of them that hold all means."""
        return frozenset(member for member in self.current if self._of[member].nonce)

    @property
    def votes(self) -> dict[int, tuple[bytes, ...]]:
        """The fingerprints of each holder that has voted; the coordinator's own first, for ties."""
        counts = self._shares.counts
        voted = [m for m in self.holders if self.key and self._of[m].nonces == self.key]
        return {
            m: tuple(one if count else b"" for one, count in zip(self._of[m].fingerprints, counts, strict=True))
            for m in sorted(voted, key=lambda member: (member != self._me, member))
            if len(self._of[m].fingerprints) == len(counts)
        }

    @property
    def undone(self) -> Members:
        """Members that are in, need the means, and have not done what is asked of them."""
        return self.needing - (self.votes.keys() if self.key else self.holders)

    def new_key(self) -> tuple[bytes, ...]:
        """A nonce for each member of the plan, empty for those that need no means or are out."""
        return tuple(self._of[m].nonce if m in self.needing else b"" for m in range(len(self._shares.counts)))

    def earlier_votes(self) -> tuple[Members, tuple[bytes, ...]]:
        """What may have been voted under an earlier coordinator.

        Returns:
            The members that may have voted for the newest versions, and the newest key with the nonces of all members
            that need the means; empty where there is none.
        """
        voted = frozenset(member for member in self.current if self._of[member].nonces)
        keys = [self._of[m].nonces for m in sorted(voted) if len(self._of[m].nonces) == len(self._shares.counts)]
        fitting = [key for key in keys if all(key[m] == self._of[m].nonce for m in self.needing & self._of.keys())]
        key = min(fitting, key=lambda key: sum(map(bool, key)), default=())  # it lacks those gone since
        return self._shares.everybody - (self._shares.receivers & self._of.keys() - voted), key

    def hopeless(self) -> list[int]:
        """Shares that another member is to make: their means do not come, and there is no holder to ask for them.

        Not a single member misses them, unless that is the coordinator; and a member is left that has not tried yet.
        """
        stalled = {member: from_bits(self._of[member].stalled) for member in self.current}
        shares, holders, found = frozenset[int]().union(*stalled.values()), self.holders, []
        for share in sorted(share for share in shares if share < len(self.reducers) and self._shares.counts[share]):
            reducer, missed_by = self.reducers[share], {member for member in stalled if share in stalled[member]}
            seen = self._me in missed_by or reducer not in self.live
            enough = seen or len(missed_by) >= min(WITNESSES, len(self.needing - {reducer}))
            may_try = reducer not in self.live or self.live - self._tried[share] - {reducer}
            if enough and may_try and not holders - {reducer}:
                found.append(share)
        return found

    def remake(self, share: int) -> None:
        """Have the means of a share made anew by another member, best by one that has not tried before."""
        old = self.reducers[share]
        self._tried[share] |= {old}
        reducer = min(self.live - {old} or {old}, key=lambda member: self._reluctance(member, share))
        self._set(share, max(self.versions[share] + 1, self._rank << RANK_SHIFT), reducer)

    def _set(self, share: int, version: int, reducer: int) -> None:
        self.versions = (*self.versions[:share], version, *self.versions[share + 1 :])
        self.reducers = (*self.reducers[:share], reducer, *self.reducers[share + 1 :])

    def _reluctance(self, member: int, share: int) -> tuple[bool, bool, float, int]:
        """The member for which this is the least is the best to take over a share."""
        plan, counts = self._shares.plan, self._shares.counts
        load = counts[share] + sum(counts[s] for s, reducer in enumerate(self.reducers) if reducer == member)
        seconds = load / max(plan.lines[member].up if plan.lines else 0, 1)
        return member in self._tried[share], not plan.members[member].reduces, seconds, member


class Coordinator:
    """One coordinator's side of a round (`commit.phases`).

    Args:
        shares: The plan's division.
        rank: Its place in the order of coordinators.
        live: Members that are in.
        timetable: When members are late.
        vote_ignored: Members for whose vote alone no share is made anew, because of rounds before.
        trace: Counts misuse.
    """

    def __init__(
        self, shares: ShareMap, rank: int, live: Members, *, timetable: Timetable, vote_ignored: Members, trace: Trace
    ) -> None:
        self._shares = shares
        self._rank = rank
        self._me = coordinators(shares)[rank]
        self._timetable = timetable
        self._ignored = vote_ignored
        self._trace = trace
        self.reports = Reports(shares, rank, live)
        self.standing = Standing(COORDINATOR, Phase.TAKING_OVER if rank else Phase.COLLECTING)
        self.changes = 0
        """Counts what was decided."""
        self.slow = self.differed = self.doubted = frozenset[int]()
        """Members that all others waited for; that voted, with few others, for other means; that made these."""
        self._apart: Members = frozenset()
        self._pinned = False
        self._order_at = 0.0 if rank else timetable.began_at + timetable.stall_s / HEARTBEATS
        self._overslept_until = 0.0
        self._silence = FailureDetector(timetable, Stage.COMPLETE, patience_s=timetable.stall_s)
        self._late = FailureDetector(timetable, Stage.COMPLETE, patience_s=math.inf)

    @property
    def deadline(self) -> float | None:
        """When to send the next order, or to look for members that are late; unix seconds."""
        return earliest(self._order_at, self._silence.deadline, self._late.deadline)

    def heard(self, member: int, now: float) -> None:
        """Some message came from a member."""
        self._silence.moved(member, now)
        if self._order_at and now > self._order_at + self._timetable.stall_s / (2 * HEARTBEATS):
            self._overslept_until = now + self._timetable.stall_s

    def overslept(self, now: float) -> bool:
        """Whether the others had reason of late to take this coordinator for gone: it woke too late for its order."""
        return now < self._overslept_until

    def note(self, member: int, status: Status) -> None:
        """A member, maybe the coordinator itself, says where it stands."""
        if not self.reports.note(member, status):
            self._trace.mark("averaging.drop.status")

    def exclude(self, members: Members) -> None:
        """Members leave the round; if any of them was in, a new Order is due at once."""
        if members & self.reports.live:
            self.reports.live -= members
            self._changed()

    def step(self, now: float) -> None:
        """Do what follows from all that is known, and from the time."""
        self._watch(now)
        standing, reports = self.standing, self.reports
        if not reports.needing or not quorum(self._shares, reports.live):
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
        round_, reports, live = self._shares.plan.round, self.reports, to_bits(self.reports.live)
        holders = to_bits(reports.holders)
        return Order(round_, reports.versions, reports.reducers, live, reports.key, holders)

    def commit(self, present: Sequence[int]) -> Commit:
        """What all members hold.

        Args:
            present: For each member the number of chunks of the mean that hold its part.
        """
        round_, fingerprints = self._shares.plan.round, next(iter(self.reports.votes.values()))
        return Commit(round_, self.reports.versions, self.reports.key, fingerprints, tuple(present))

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
        self.reports.adopt()
        voters, key = self.reports.earlier_votes()
        self._pinned = quorum(self._shares, voters)
        if self._pinned and key and not self.reports.undone:
            self._prepare(key)
        self._changed()

    def _remake(self, shares: Sequence[int]) -> None:
        """Have the means of shares made anew by other members; never such as may be committed already.

        Where these are lost with their reducer, nobody that is left can finish the round.
        """
        if self._pinned and any(self.reports.reducers[share] not in self.reports.live for share in shares):
            self.standing.advance(Cue.TOO_FEW)
        if shares and not self._pinned:
            for share in shares:
                self.reports.remake(share)
            self.reports.key = ()
            self.standing.advance(Cue.REMADE)
            self._changed()

    def _judge(self, votes: dict[int, tuple[bytes, ...]]) -> None:
        """All have voted, and not all the same; in a tie the coordinator is right.

        The reducer of a share has lied to a member that votes otherwise than most, or that member lies about the
        reducer: the share is made anew by another one.  A member is excluded that differs a second time, that would
        have several reducers lie to it, whose vote is ignored, or that differs from what may be committed already.
        """
        self._trace.mark("averaging.means_differ")
        common, _ = Counter(votes.values()).most_common(1)[0]
        apart = frozenset(member for member, vote in votes.items() if vote != common)
        shares = {m: [share for share, one in enumerate(votes[m]) if one != common[share]] for m in apart}
        makers = {m: frozenset(self.reports.reducers[share] for share in shares[m]) for m in apart}
        lying = frozenset(m for m in apart if self._pinned or m in self._apart or len(makers[m]) > 1)
        excluded = lying | (self._ignored & apart)
        if 2 * len(apart) < len(votes) or (2 * len(apart) == len(votes) and self._me not in apart):
            self.differed |= apart - self._ignored
        self._apart |= apart
        self.doubted |= frozenset[int]().union(*(makers[member] for member in apart - lying))
        self._remake(sorted({share for member in apart - excluded for share in shares[member]}))
        self.exclude(excluded)
