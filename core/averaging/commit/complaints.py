"""Who gets no means of a share, and whether its means are to be made anew because of that."""

from collections.abc import Sequence

from core.averaging.commit.testimony import bits_of
from core.averaging.plan import Plan

COMPLAINTS_MAX = 64
"""Complaints of one member that are heard in a round."""
WITNESSES = 2
"""So many must get no means before they are made anew, which costs everybody what it has of that share."""


class Complaints:
    """What the leader has been told.  Sets of members are bits.

    A reducer that is gone, or does not do its work, is missed by all.  Where only one misses it, the link between the
    two is to blame, or it is not true: then it gets the means from another as soon as one holds them, and nobody else
    has to begin again.

    Args:
        plan: The round's plan.
        me: Index of the leader.  Its own complaint is enough: it believes its eyes.
    """

    def __init__(self, plan: Plan, me: int) -> None:
        self._me = me
        self._heard = [0] * len(plan.members)
        self._receivers = bits_of(m for m, member in enumerate(plan.members) if member.receives)
        self._by: list[tuple[int, int]] = [(0, 0)] * len(plan.members)

    def hear(self, member: int, share: int, version: int) -> bool:
        """`member` gets no means of this version of the share; False: it has said so too often."""
        if self._heard[member] >= COMPLAINTS_MAX:
            return False
        self._heard[member] += 1
        self._by[share] = version, self.by(share, version) | 1 << member
        return True

    def by(self, share: int, version: int) -> int:
        """Who gets no means of this version of the share."""
        known, members = self._by[share]
        return members if known == version else 0

    def answered(self, share: int) -> None:
        """Another has it now."""
        self._by[share] = (0, 0)

    def open(self, versions: Sequence[int], members: int) -> list[int]:
        """The shares of these versions of which any of `members` gets no means."""
        return [share for share, version in enumerate(versions) if self.by(share, version) & members]

    def suffice(self, share: int, version: int, *, live: int, reducer: int) -> bool:
        """Whether the means of a share are to be made anew by another than `reducer`, since nobody holds them."""
        members = self.by(share, version) & live
        others = live & self._receivers & ~(1 << reducer)
        known = bool(members >> self._me & 1) or not live >> reducer & 1
        return known or members.bit_count() >= min(WITNESSES, others.bit_count())
