"""Where each peer stands in the grid, and with whom it averages in each stage (Moshpit all-reduce, S000 appendix C).

In a full grid of m^d cells, averaging along one axis after the other gives everybody the mean of all.  Peers are seldom
m^d, so the grid is built as a tree instead: all peers are a block, a block is cut into k blocks whose sizes differ by
one at most, and so on, once less than there are stages.  The first stage averages within the smallest blocks.  From
then on all peers of a block hold the same mean, with the block's samples as its weight, and each further stage joins
k blocks: a group has one peer of each.  Where a block has a peer more than another, that peer sits in a group whose
place for its block is taken; it brings no weight and gets the mean.  So everybody is in exactly one group a stage, and
the result is the exact weighted mean for every number of peers.

Whom a group lost may be stood in for by any other peer of the same block, since it holds the same mean.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from core.averaging.plan import Plan
from core.base.ids import PeerId, hashed_key


@dataclass(frozen=True, slots=True)
class Group:
    """Peers that average together in one stage.  Peers are named by their places in the plan."""

    places: tuple[tuple[int, ...], ...]
    """For each block that is joined here, its peers in this group: the first one gives the block's mean."""
    blocks: tuple[tuple[int, ...], ...]
    """For each of them, all peers of that block: whoever of them is here can give its mean."""

    @property
    def members(self) -> tuple[int, ...]:
        """Everybody in the group: the givers in the order of their blocks, then the others."""
        spare = [member for place in self.places for member in place[1:]]
        return (*(place[0] for place in self.places), *spare)


Stage = tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class GridLayout:
    """All groups of all stages."""

    stages: tuple[Stage, ...]

    def group_of(self, stage: int, member: int) -> int:
        """Number of the group in which `member` averages in `stage`."""
        return next(index for index, group in enumerate(self.stages[stage]) if member in group.members)


def lay_out(members: Sequence[int], stages: int) -> GridLayout:
    """The grid of these peers, in this order.

    Raises:
        ValueError: groups would have a single peer (2^stages are the fewest), or there is no stage.
    """
    if stages < 1 or (stages > 1 and len(members) < 1 << stages):
        raise ValueError(f"{len(members)} peers in {stages} stages")
    return GridLayout(_build(tuple(members), stages))


def grid_of(round_id: bytes, peers: Sequence[PeerId], stages: int) -> GridLayout:
    """The grid of a round: who sits where follows from the round's id, so that neighbours change."""
    order = sorted(range(len(peers)), key=lambda member: hashed_key(b"seat", round_id, peers[member]))
    return lay_out(order, stages)


def layout_of(plan: Plan) -> GridLayout:
    """The grid of a plan; with one stage, all average with all."""
    return grid_of(plan.round, plan.peers, plan.stages)


def largest_group(peers: int, stages: int) -> int:
    """Members of the largest group of such a grid."""
    if stages == 1:
        return peers
    return _largest(peers, _blocks(peers, stages), stages)


def _build(members: tuple[int, ...], stages: int) -> tuple[Stage, ...]:
    if stages == 1:
        alone = tuple((member,) for member in members)
        return ((Group(alone, alone),),)
    blocks = _cut(members, _blocks(len(members), stages))
    below = [_build(block, stages - 1) for block in blocks]
    joined = tuple(tuple(group for part in below for group in part[stage]) for stage in range(stages - 1))
    return (*joined, _join(blocks))


def _join(blocks: Sequence[tuple[int, ...]]) -> Stage:
    """Groups with one peer of each block; whoever is left over is spread among them."""
    count = min(len(block) for block in blocks)
    places = [[[block[column]] for block in blocks] for column in range(count)]
    left = [(index, member) for index, block in enumerate(blocks) for member in block[count:]]
    for turn, (index, member) in enumerate(left):
        places[turn % count][index].append(member)
    return tuple(Group(tuple(tuple(place) for place in group), tuple(blocks)) for group in places)


def _cut(members: tuple[int, ...], count: int) -> list[tuple[int, ...]]:
    each, longer = divmod(len(members), count)
    ends = [index * each + min(index, longer) for index in range(count + 1)]
    return [members[start:end] for start, end in pairwise(ends)]


def _blocks(peers: int, stages: int) -> int:
    """Into how many blocks to cut, so that the largest group of any stage is small."""
    even = round(peers ** (1 / stages))
    most = peers >> (stages - 1)
    choices = [count for count in range(even - 1, even + 2) if 2 <= count <= most] or [2]

    return min(choices, key=lambda count: (_largest(peers, count, stages), abs(count - even), count))


def _largest(peers: int, count: int, stages: int) -> int:
    """Members of the largest group when `peers` are cut into `count` blocks."""
    shortest, longest = peers // count, -(-peers // count)
    below = max(largest_group(size, stages - 1) for size in {shortest, longest})
    return max(-(-peers // shortest), below)
