"""Where each member stands in the grid, and with which others it averages in each stage (Moshpit all-reduce).

In a full grid of m^d cells, averaging along one axis after the other gives every member the mean of all.  Members are
seldom m^d, so the grid is built as a tree instead: all members are a block, a block is cut into k blocks whose sizes
differ by one at most, and so on, once less than there are stages.  The first stage averages within the smallest blocks.
From then on all members of a block hold the same mean, with the block's samples as its weight, and each further stage
joins k blocks: a group has one member of each.  Where a block has a member more than another, that member sits in a
group whose place for its block is taken; it brings no weight and gets the mean.  So every member is in exactly one
group a stage, and the result is the exact weighted mean for every number of members.

A member that a group lost can be replaced by any other member of the same block, since it holds the same mean.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from core.averaging.plan import Plan
from core.base.ids import PeerId, hashed_key


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
