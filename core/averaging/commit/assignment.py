"""Which member makes the means of each share, and which share is made anew by whom."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from core.averaging.allreduce.share_map import ShareMap
from core.averaging.messages import Members

RANK_SHIFT: Final = 16
"""A coordinator of rank r gives versions from r << 16 on, so that no two coordinators give the same one."""


class Assignment:
    """The version and the reducer of each share, as a coordinator has them.

    Args:
        shares: The plan's division.
        rank: The coordinator's.
        versions: Of each share, so far.
        reducers: Of each share, so far.
    """

    def __init__(self, shares: ShareMap, rank: int, versions: Sequence[int], reducers: Sequence[int]) -> None:
        self._shares = shares
        self._rank = rank
        self._tried: list[Members] = [frozenset()] * len(shares.counts)
        self.versions = tuple(versions)
        self.reducers = tuple(reducers)

    def adopt(self, versions: Sequence[int], reducers: Sequence[int]) -> None:
        """Take over what an earlier coordinator has ordered, where that is newer."""
        for share, (version, reducer) in enumerate(zip(versions, reducers, strict=True)):
            if version > self.versions[share] and self._shares.counts[share]:
                self._set(share, version, reducer)

    def may_remake(self, share: int, live: Members) -> bool:
        """Whether the reducer of a share is gone, or any other of these members has not made it: each does so once."""
        reducer = self.reducers[share]
        return reducer not in live or bool(live - self._tried[share] - {reducer})

    def remake(self, share: int, live: Members) -> None:
        """Have the means of a share made anew by another of these members, best by one that has not tried before."""
        old = self.reducers[share]
        self._tried[share] |= {old}
        reducer = min(live - {old} or {old}, key=lambda member: self._reluctance(member, share))
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


@dataclass(frozen=True, slots=True)
class Verdict:
    """What follows from votes that differ."""

    excluded: Members
    remade: tuple[int, ...]
    """Shares that are made anew."""
    apart: Members
    """Members that voted for other means than most."""
    doubted: Members
    """Members that made the means on which honest votes may differ."""


def judge(
    votes: Mapping[int, tuple[bytes, ...]], reducers: Sequence[int], *, twice: Members, ignored: Members, pinned: bool
) -> Verdict:
    """What follows when all have voted, and not all the same.

    The reducer of a share has lied to a member that votes otherwise than most, or that member lies about the reducer:
    the share is made anew by another one.  A member is excluded that differs a second time, that would have several
    reducers lie to it, whose vote is ignored, or that differs from what may be committed already.

    Args:
        votes: The fingerprints of each member, the coordinator's first: in a tie it is right.
        reducers: The member that made the means of each share.
        twice: Members that differed before.
        ignored: Members for whose vote alone nothing is made anew.
        pinned: The means may have been committed by an earlier coordinator.
    """
    common, _ = Counter(votes.values()).most_common(1)[0]
    apart = {m: [s for s, one in enumerate(vote) if one != common[s]] for m, vote in votes.items() if vote != common}
    makers = {member: frozenset(reducers[share] for share in shares) for member, shares in apart.items()}
    lying = frozenset(m for m in apart if pinned or m in twice or len(makers[m]) > 1)
    excluded = lying | (ignored & apart.keys())
    remade = {share for member, shares in apart.items() if member not in excluded for share in shares}
    doubted = frozenset(maker for member in apart.keys() - lying for maker in makers[member])
    return Verdict(excluded, tuple(sorted(remade)), frozenset(apart), doubted)
