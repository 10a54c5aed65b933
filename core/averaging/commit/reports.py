"""What the coordinator of a round has been told: the newest Status of each member, and what follows from them."""

from typing import Final

from core.averaging.allreduce.share_map import ShareMap
from core.averaging.commit.assignment import RANK_SHIFT, Assignment
from core.averaging.commit.messages import Status
from core.averaging.messages import VERSION_MAX, Members, from_bits

WITNESSES: Final = 2
"""Number of members that must miss a reducer's means before these are made anew, which costs all what they have."""


class Reports:
    """Keeps the newest Status of each member, from which the coordinator draws its conclusions.

    Args:
        shares: The plan's division.
        assignment: The versions that count; it may change.
        start: The coordinator's own Status.
        me: Its place in the plan.
    """

    def __init__(self, shares: ShareMap, assignment: Assignment, start: Status, me: int) -> None:
        self._shares = shares
        self._assignment = assignment
        self._me = me
        self._version_max = min((start.rank + 1) << RANK_SHIFT, VERSION_MAX)
        self._of: dict[int, Status] = {}
        self.live = from_bits(start.live)
        """Members that are in."""
        self.key: tuple[bytes, ...] = ()
        """The nonces under which votes are asked for; empty before."""

    def note(self, member: int, status: Status) -> bool:
        """Keep a member's word.

        Returns:
            Whether it is in, and its word fits the plan; else nothing is kept.
        """
        members = len(self._shares.counts)
        fits = len(status.versions) == len(status.reducers) == members and max(status.reducers) < members
        if not fits or max(status.versions) >= self._version_max or member not in self.live:
            return False
        self._of[member] = status
        return True

    def lacking(self, member: int) -> int:
        """Number of means that a member lacks, as it said last."""
        return self._of[member].lacking if member in self._of else self._shares.chunk_total + 1

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
        versions = self._assignment.versions
        return frozenset(m for m in self.needing if m in self._of and self._of[m].versions == versions)

    @property
    def holders(self) -> Members:
        """Those of them that hold all means."""
        return frozenset(member for member in self.current if self._of[member].complete)

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

    def earlier_key(self) -> tuple[Members, tuple[bytes, ...]]:
        """What may have been voted under an earlier coordinator.

        Returns:
            The members that have voted for the newest versions, and the newest key with the nonces of all members that
            need the means; empty where there is none.
        """
        voted = frozenset(member for member in self.current if self._of[member].nonces)
        keys = [self._of[member].nonces for member in sorted(voted)]
        keys = [key for key in keys if len(key) == len(self._shares.counts)]
        fitting = [key for key in keys if all(key[m] == self._of[m].nonce for m in self.needing & self._of.keys())]
        return voted, min(fitting, key=lambda key: sum(map(bool, key)), default=())  # it lacks those gone since

    def not_voted(self, voted: Members) -> Members:
        """Members that need the means, and say that they have not voted for the newest versions."""
        return frozenset(self._of) & self._shares.receivers - voted

    def hopeless(self) -> list[int]:
        """Shares that another member is to make: their means do not come, and there is no holder to ask for them."""
        by: dict[int, set[int]] = {}
        for member in self.current:
            for share in from_bits(self._of[member].stalled):
                if share < len(self._shares.counts) and self._shares.counts[share]:
                    by.setdefault(share, set()).add(member)
        return sorted(share for share, members in by.items() if self._is_sure(share, members))

    def _is_sure(self, share: int, missed_by: set[int]) -> bool:
        """Whether not one member alone misses them, none but their reducer holds them, and another may try."""
        reducer = self._assignment.reducers[share]
        seen = self._me in missed_by or reducer not in self.live
        enough = seen or len(missed_by) >= min(WITNESSES, len(self.needing - {reducer}))
        return enough and not self.holders - {reducer} and self._assignment.may_remake(share, self.live)
