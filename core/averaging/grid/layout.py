"""Where each member stands in the grid, and with which others it averages in each stage (Moshpit all-reduce).

In a full grid of m^d cells, averaging along one axis after the other gives every member the mean of all.  Members are
seldom m^d, so the grid is built as a tree instead: all members are a block, a block is cut into k blocks whose sizes
differ by one at most, and so on, once less than there are stages.  The first stage averages within the smallest blocks.
From then on all members of a block hold the same mean, with the block's samples as its weight, and each further stage
joins k blocks: a group has one member of each.  Where a block has a member more than another, that member sits in a
group whose place for its block is taken; it brings no weight and gets the mean.  So every member is in exactly one
group a stage, and the result is the exact weighted mean for every number of members.

A member that a group lost can be replaced by any other member of the same block, since it holds the same mean.

In how many stages a round is averaged follows from how often peers fail (S000 appendix C, figure 8).

n peers in groups of m need R = ceil(log_m n) stages.  A peer fails in a stage with probability p, so a group succeeds
with q = (1 - p)^m, and one that fails repeats its stage.  A stage is over when its last group has succeeded, so

    E = R E[max of ceil(n / m) Geometric(q)]

stages are expected, and plans take the fewest.  The paper gives no formula; `docs/decisions/0009-groups.md` compares
this reading with the other one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from core.averaging.outcome import Outcome
from core.averaging.plan import STAGES_MAX, WHOLE_GIFT, Plan
from core.base.ids import PeerId, hashed_key

PRIOR_FAILURES: Final = 0.1
"""Number of failures in the prior: one in a thousand trials, as of a desktop computer that is on all day."""
PRIOR_TRIALS: Final = 100.0
"""Number of members seen that outweigh the prior: a few rounds."""
KEPT: Final = 0.97
"""Part of the earlier evidence that a round leaves: it halves every 23 rounds, as a swarm's habits change."""
SUMMED_ABOVE: Final = 0.02
"""Least rate of success at which the series of `slowest` is summed; below, its integral is exact to 1e-9."""


@dataclass(frozen=True, slots=True)
class Group:
    """Members that average together in one stage, named by their places in the plan."""

    places: tuple[tuple[int, ...], ...]
    """For each block that is joined here, its members in this group: the first one gives the block's mean."""
    blocks: tuple[tuple[int, ...], ...]
    """For each of them, all members of that block: each of them can give its mean."""
    stage: int = 0
    number: int = 0
    """Its place among the groups of the stage."""

    @property
    def members(self) -> tuple[int, ...]:
        """All members of the group: the givers in the order of their blocks, then the others."""
        spare = [member for place in self.places for member in place[1:]]
        return (*(place[0] for place in self.places), *spare)


@dataclass(frozen=True, slots=True)
class GridLayout:
    """The groups in which members average, stage by stage."""

    stages: tuple[tuple[Group, ...], ...]

    def group_of(self, stage: int, member: int) -> Group:
        """The group in which `member` averages in `stage`."""
        return next(group for group in self.stages[stage] if member in group.members)

    def groups_of(self, member: int) -> list[Group]:
        """The group of `member` in each stage."""
        return [self.group_of(stage, member) for stage in range(len(self.stages))]


def lay_out(members: Sequence[int], stages: int) -> GridLayout:
    """The grid of these members, in this order.

    Raises:
        ValueError: groups would have a single member (2^stages are the fewest), or there is no stage.
    """
    if stages < 1 or (stages > 1 and len(members) < 1 << stages):
        raise ValueError(f"{len(members)} peers in {stages} stages")
    built = enumerate(_build(tuple(members), stages))
    return GridLayout(
        tuple(
            tuple(replace(g, stage=stage, number=number) for number, g in enumerate(groups)) for stage, groups in built
        )
    )


def grid_of(round_id: bytes, peers: Sequence[PeerId], stages: int) -> GridLayout:
    """The grid of a round: the places follow from the round's id, so that neighbours change."""
    order = sorted(range(len(peers)), key=lambda member: hashed_key(b"seat", round_id, peers[member]))
    return lay_out(order, stages)


def layout_of(plan: Plan) -> GridLayout:
    """The grid of a plan; with one stage, all members are one group."""
    return grid_of(plan.round, plan.peers, plan.stages)


def largest_group(peers: int, stages: int) -> int:
    """Members of the largest group of such a grid."""
    return peers if stages == 1 else _largest(peers, _blocks(peers, stages), stages)


def _build(members: tuple[int, ...], stages: int) -> list[list[Group]]:
    if stages == 1:
        alone = tuple((member,) for member in members)
        return [[Group(alone, alone)]]
    blocks = _cut(members, _blocks(len(members), stages))
    below = [_build(block, stages - 1) for block in blocks]
    joined = [[group for part in below for group in part[stage]] for stage in range(stages - 1)]
    return [*joined, _join(blocks)]


def _join(blocks: Sequence[tuple[int, ...]]) -> list[Group]:
    """Groups with one member of each block; members that are left over are spread among them."""
    count = min(len(block) for block in blocks)
    places = [[[block[column]] for block in blocks] for column in range(count)]
    left = [(index, member) for index, block in enumerate(blocks) for member in block[count:]]
    for turn, (index, member) in enumerate(left):
        places[turn % count][index].append(member)
    return [Group(tuple(tuple(place) for place in group), tuple(blocks)) for group in places]


def _cut(members: tuple[int, ...], count: int) -> list[tuple[int, ...]]:
    each, longer = divmod(len(members), count)
    ends = [index * each + min(index, longer) for index in range(count + 1)]
    return [members[start:end] for start, end in pairwise(ends)]


def _blocks(peers: int, stages: int) -> int:
    """Number of blocks to cut into, so that the largest group of any stage is small."""
    even = round(peers ** (1 / stages))
    choices = [count for count in range(even - 1, even + 2) if 2 <= count <= peers >> (stages - 1)] or [2]
    return min(choices, key=lambda count: (_largest(peers, count, stages), abs(count - even), count))


def _largest(peers: int, count: int, stages: int) -> int:
    """Members of the largest group when `peers` are cut into `count` blocks."""
    shortest, longest = peers // count, -(-peers // count)
    below = max(largest_group(size, stages - 1) for size in {shortest, longest})
    return max(-(-peers // shortest), below)


class FailureRate:
    """The probability that a peer fails in a round: a Beta distribution whose evidence fades back to the prior."""

    def __init__(self) -> None:
        self._failures = 0.0
        self._trials = 0.0

    def saw(self, *, members: int, failed: int) -> None:
        """A round of `members` has ended, in which so many of them failed.

        Raises:
            ValueError: more failed than there were.
        """
        if not 0 <= failed <= members:
            raise ValueError(f"{failed} of {members} members failed")
        self._failures = self._failures * KEPT + failed
        self._trials = self._trials * KEPT + members

    def finished(self, plan: Plan, outcome: Outcome) -> None:
        """Take in a committed round: a member whose contribution lacks anything that it was to give has failed."""
        lacking = {peer for peer, _ in outcome.missing}
        whole = [m.peer for i, m in enumerate(plan.members) if m.samples and plan.gift(i) == WHOLE_GIFT]
        self.saw(members=len(whole), failed=sum(peer in lacking for peer in whole))

    @property
    def value(self) -> float:
        """The mean of the distribution, within 0 and 1."""
        return (PRIOR_FAILURES + self._failures) / (PRIOR_TRIALS + self._trials)


def best_stages(peers: int, failure_rate: float) -> int:
    """In how many stages a round of `peers` is to be averaged, with groups as `lay_out` makes them; 1: in one group.

    At most `STAGES_MAX`, and no group of one peer.
    """

    def expected(stages: int) -> float:
        group = largest_group(peers, stages)
        return stages * slowest(-(-peers // group), (1 - failure_rate) ** group)

    most = min(STAGES_MAX, max(1, peers.bit_length() - 1))
    return min(range(1, most + 1), key=lambda stages: (expected(stages), stages))


def slowest(groups: int, q: float) -> float:
    """Expected maximum of `groups` independent geometric variables (tries until the first success, each with q).

    With L = -ln(1 - q) it is the sum over t >= 0 of 1 - (1 - exp(-L t))^k.  Where q is small that is close to its
    integral H_k / L, H_k the k-th harmonic number, plus half of the first term (Euler and Maclaurin).
    """
    if groups == 1 or q <= 0 or q >= 1:
        return 1 / q if q > 0 else math.inf
    rate = -math.log1p(-q)
    if q < SUMMED_ABOVE:
        return math.fsum(1 / number for number in range(1, groups + 1)) / rate + 0.5
    total, tries, term = 1.0, 1, 1.0
    while term > 1e-18:
        term = -math.expm1(groups * math.log1p(-math.exp(-rate * tries)))
        total, tries = total + term, tries + 1
    return total
