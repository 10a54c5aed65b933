"""What the members of a round have told its coordinator."""

import math
from typing import Final

from core.averaging.allreduce.share_map import ShareMap
from core.averaging.messages import Commit, Members, Order, Status, from_bits

RANK_SHIFT: Final = 16
"""A coordinator of rank r gives versions from r << 16 on, so that no two coordinators give the same one."""


def coordinators(shares: ShareMap) -> list[int]:
    """The members that may coordinate, in their order: helpers hold no means, so they do not."""
    return [member for member in shares.plan.leaders if member in shares.receivers]


def quorum(shares: ShareMap, live: Members) -> bool:
    """Whether these may commit: more than half of the members that need the mean, or half with the first coordinator.

    Two sides of a broken network can then not both end the round with different means.  Helpers count for nothing:
    they hold no means, and one person with passes can bring as many as there are members.
    """
    twice, members = 2 * len(live & shares.receivers), len(shares.receivers)
    return twice > members or (twice == members and coordinators(shares)[0] in live)


def divides(shares: ShareMap, word: Order | Status) -> bool:
    """Whether a message has a version and a reducer for each share of the plan."""
    members = len(shares.counts)
    return len(word.versions) == len(word.reducers) == members and max(word.reducers) < members


def is_planned(shares: ShareMap, commit: Commit) -> bool:
    """Whether a Commit has a version for each share, and has each member in no more chunks than that was to give."""
    members = len(shares.counts)
    fits = len(commit.versions) == len(commit.present) == members
    return fits and all(chunks <= planned for chunks, planned in zip(commit.present, shares.planned, strict=True))


class Reports:
    """What a coordinator has been told: who makes which means, the newest Status of each member, and what follows.

    Args:
        shares: The plan's division.
        rank: The coordinator's.
        live: Members that are in.
    """

    def __init__(self, shares: ShareMap, rank: int, live: Members) -> None:
        self.shares = shares
        self.rank = rank
        self.me = coordinators(shares)[rank]
        self.of: dict[int, Status] = {}
        """The newest Status of each member that was in when it told that."""
        self._tried: list[Members] = [frozenset()] * len(shares.counts)
        self.versions = (0,) * len(shares.counts)
        """Version of each share."""
        self.reducers = tuple(range(len(shares.counts)))
        """Reducer of each share."""
        self.live = live
        self.key: tuple[bytes, ...] = ()
        """The nonces under which votes are asked for; empty before."""
        self.repairing: Members = frozenset()
        """Members that hold other means than the coordinator, which gives them its own."""
        self.second_hand: Members = frozenset()
        """Shares of which the coordinator has means that their reducer did not give it itself."""
        self._missing_since = math.inf
        """Since when means are missing that reducers do not give; unix seconds."""

    def note(self, member: int, status: Status) -> bool:
        """Keep a member's word.

        Returns:
            Whether it is in, and its word fits the plan; else nothing is kept.
        """
        if member not in self.live or not divides(self.shares, status):
            return False
        self.of[member] = status
        return True

    def adopt(self) -> None:
        """Take over the newest versions that members report and an earlier coordinator can have ordered."""
        for share in (share for share, count in enumerate(self.shares.counts) if count):
            # Of two words on one version the coordinator's own counts: it can vouch for no other.
            words = [(self.of[m].versions[share], m == self.me, self.of[m].reducers[share]) for m in self.live]
            version, _, reducer = max(word for word in words if word[0] < self.rank << RANK_SHIFT)
            self._set(share, version, reducer)

    @property
    def needing(self) -> Members:
        """Members that are in and need the means."""
        return self.live & self.shares.receivers

    @property
    def current(self) -> Members:
        """Those of them that have the versions that count."""
        return frozenset(m for m in self.needing & self.of.keys() if self.of[m].versions == self.versions)

    @property
    def holders(self) -> Members:
        """Those of them that hold all means."""
        return frozenset(member for member in self.current if self.of[member].nonce)

    @property
    def votes(self) -> dict[int, tuple[bytes, ...]]:
        """The fingerprints of each holder that has voted; the coordinator's own first, for ties."""
        counts = self.shares.counts
        voted = [m for m in self.holders if self.key and self.of[m].nonces == self.key]
        return {
            m: tuple(one if count else b"" for one, count in zip(self.of[m].fingerprints, counts, strict=True))
            for m in sorted(voted, key=lambda member: (member != self.me, member))
            if len(self.of[m].fingerprints) == len(counts)
        }

    @property
    def undone(self) -> Members:
        """Members that are in, need the means, and have not done what is asked of them."""
        return self.needing - (self.votes.keys() - self.repairing if self.key else self.holders)

    def made_by(self, members: Members) -> tuple[int, ...]:
        """The shares that these members make."""
        counts = self.shares.counts
        return tuple(share for share, maker in enumerate(self.reducers) if maker in members and counts[share])

    def new_key(self) -> tuple[bytes, ...]:
        """A nonce for each member of the plan, empty for those that need no means or are out."""
        return tuple(self.of[m].nonce if m in self.needing else b"" for m in range(len(self.shares.counts)))

    def earlier_votes(self) -> tuple[Members, tuple[bytes, ...]]:
        """What may have been voted under an earlier coordinator.

        Returns:
            The members that may have voted for the newest versions, and the newest key with the nonces of all members
            that need the means; empty where there is none.
        """
        voted = frozenset(member for member in self.current if self.of[member].nonces)
        keys = [self.of[m].nonces for m in sorted(voted) if len(self.of[m].nonces) == len(self.shares.counts)]
        fitting = [key for key in keys if all(key[m] == self.of[m].nonce for m in self.needing & self.of.keys())]
        key = min(fitting, key=lambda key: sum(map(bool, key)), default=())  # it lacks those gone since
        # Members that have not been heard may have voted for all that is known.
        return self.shares.receivers - (self.of.keys() - voted), key

    def hopeless(self, now: float, *, wait_s: float) -> list[int]:
        """Shares that another member is to make: their means do not come, and there is no holder to ask for them.

        The coordinator misses them, or most others do: a few may lie, and can ask it for what it holds.  And a member
        is left that has not tried yet.  Where fewer hold all means than lack some, they may only say so, and have a
        time to give them.

        Args:
            now: Unix seconds.
            wait_s: That time.
        """
        stalled = {member: from_bits(self.of[member].stalled) for member in self.current}
        shares, holders, found = frozenset[int]().union(*stalled.values()), self.holders, list[int]()
        for share in sorted(share for share in shares if share < len(self.reducers) and self.shares.counts[share]):
            reducer, missed_by = self.reducers[share], {member for member in stalled if share in stalled[member]}
            gone, others = reducer not in self.live, self.needing - {reducer}
            missed = gone or self.me in missed_by or 2 * len(missed_by) > len(others)
            may_try = gone or self.live - self._tried[share] - {reducer}
            if missed and may_try:
                found.append(share)
        self._missing_since = min(self._missing_since, now) if found else math.inf
        believed = len(holders) >= len(self.undone) or now < self._missing_since + wait_s
        return [share for share in found if not (believed and holders - {self.reducers[share]})]

    def remake(self, share: int, *, by: int | None = None) -> None:
        """Have the means of a share made anew, by a certain member or best by one that has not tried before."""
        old = self.reducers[share]
        self._tried[share] |= {old}
        best = min(self.live - {old} or {old}, key=lambda member: self._reluctance(member, share))
        reducer = best if by is None else by
        self._set(share, max(self.versions[share] + 1, self.rank << RANK_SHIFT), reducer)

    def _set(self, share: int, version: int, reducer: int) -> None:
        self.versions = (*self.versions[:share], version, *self.versions[share + 1 :])
        self.reducers = (*self.reducers[:share], reducer, *self.reducers[share + 1 :])

    def _reluctance(self, member: int, share: int) -> tuple[bool, bool, float, int]:
        """The member for which this is the least is the best to take over a share."""
        plan, counts = self.shares.plan, self.shares.counts
        load = counts[share] + sum(counts[s] for s, reducer in enumerate(self.reducers) if reducer == member)
        seconds = load / max(plan.lines[member].up if plan.lines else 0, 1)
        return member in self._tried[share], not plan.members[member].reduces, seconds, member
