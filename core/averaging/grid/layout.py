"""Where each member stands in the grid, and with which others it averages in each stage (Moshpit all-reduce).

In a full grid of m^d cells, averaging along one axis after the other gives every member the mean of all.  Members are
seldom m^d, so the grid is built as a tree instead: all members are a block, a block is cut into k blocks whose sizes
differ by one at most, and so on, once less than there are stages.  The first stage averages within the smallest blocks.
From then on all members of a block hold the same mean, with the block's samples as its weight, and each further stage
joins k blocks: a group has one member of each.  Where a block has a member more than another, that member sits in a
group whose place for its block is taken; it brings no weight and gets the mean.  So every member is in exactly one
group a stage, and the result is the exact weighted mean for every number of members.

A member that a group lost can be replaced by any other member of the same block, since it holds the same mean.

How many stages there are follows from how often peers fail (S000 appendix C, figure 8).  n peers in groups of m need
R = ceil(log_m n) stages.  A peer fails in a stage with probability p, so a group succeeds with q = (1 - p)^m, and one
that fails repeats its stage.  A stage is over when its last group has succeeded, so

    E = R E[max of ceil(n / m) Geometric(q)]

stages are expected, and plans take the fewest.  The paper gives no formula; `docs/decisions/0009-groups.md` compares
this reading with the other one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from core.averaging.outcome import Outcome
from core.averaging.plan import STAGES_MAX, WHOLE_PORTION, Plan
from core.base.ids import hashed_key

KEPT: Final = 0.97
"""Part of the earlier evidence that a round leaves: it halves every 23 rounds, as a swarm's habits change."""


@dataclass(frozen=True, slots=True)
class Group:
    """Members that average together in one stage, named by their places in the plan."""

    members: tuple[int, ...]
    """One of each block, in the order of the blocks, then those of longer blocks that are left over."""
    blocks: tuple[tuple[int, ...], ...]
    """For each block that is joined here, all of its members: each of them can give its mean."""
    stage: int = 0
    number: int = 0
    """Its place among the groups of the stage."""

    def coordinator(self, attempt: int) -> int:
        """The member that coordinates an attempt at the stage: all take turns."""
        return self.members[attempt % len(self.members)]

    def block_of(self, member: int) -> tuple[int, ...]:
        """A member's block; empty: it is not joined here."""
        return next((block for block in self.blocks if member in block), ())


def lay_out(members: Sequence[int], stages: int) -> list[list[Group]]:
    """The grid of these members, in this order.

    Returns:
        The groups of each stage; the largest has at most one member more than would do.

    Raises:
        ValueError: groups would have a single member (2^stages are the fewest), or there is no stage.
    """
    if stages < 1 or (stages > 1 and len(members) < 1 << stages):
        raise ValueError(f"{len(members)} peers in {stages} stages")
    return [
        [replace(group, stage=stage, number=number) for number, group in enumerate(groups)]
        for stage, groups in enumerate(_build(tuple(members), stages))
    ]


def group_of(groups: Sequence[Group], member: int) -> Group:
    """The group, of those of one stage, in which `member` averages."""
    return next(group for group in groups if member in group.members)


def layout_of(plan: Plan) -> list[list[Group]]:
    """The grid of a plan: the places follow from the round's id, so that neighbours change.

    With one stage, all members are one group.
    """
    peers = plan.peers
    return lay_out(sorted(range(len(peers)), key=lambda m: hashed_key(b"seat", plan.round, peers[m])), plan.stages)


def _build(members: tuple[int, ...], stages: int) -> list[list[Group]]:
    """The groups of a block's members in each stage, in as many as are left."""
    if stages == 1:
        return [[Group(members, tuple((member,) for member in members))]]
    count = round(len(members) ** (1 / stages))
    blocks = tuple(members[turn::count] for turn in range(count))
    below = [_build(block, stages - 1) for block in blocks]
    return [*([group for part in below for group in part[stage]] for stage in range(stages - 1)), _join(blocks)]


def _join(blocks: tuple[tuple[int, ...], ...]) -> list[Group]:
    """Groups with one member of each block; members that are left over are spread among them."""
    count = len(blocks[-1])
    left = [member for block in blocks for member in block[count:]]
    columns = zip(*(block[:count] for block in blocks), strict=True)
    return [Group((*column, *left[number::count]), blocks) for number, column in enumerate(columns)]


class FailureRate:
    """The part of the members that fail in a round: an exponential average over rounds, from 0 on."""

    def __init__(self) -> None:
        self.value = 0.0

    def finished(self, plan: Plan, outcome: Outcome) -> None:
        """Take in a committed round: a member whose contribution lacks anything that it was to give has failed."""
        lacking = {peer for peer, _ in outcome.missing}
        whole = [m.peer for i, m in enumerate(plan.members) if m.samples and plan.portion(i) == WHOLE_PORTION]
        if whole:
            failed = len(lacking.intersection(whole)) / len(whole)
            self.value = KEPT * self.value + (1 - KEPT) * failed


def best_stages(peers: int, failure_rate: float) -> int:
    """In how many stages a round of `peers` is to be averaged, with groups as `lay_out` makes them; 1: in one group.

    At most `STAGES_MAX`, and no group of one peer.
    """

    def expected(stages: int) -> float:
        group = max(len(group.members) for groups in lay_out(range(peers), stages) for group in groups)
        return stages * slowest(-(-peers // group), (1 - failure_rate) ** group)

    most = min(STAGES_MAX, max(1, peers.bit_length() - 1))
    return min(range(1, most + 1), key=lambda stages: (expected(stages), stages))


def slowest(groups: int, q: float) -> float:
    """Expected maximum of `groups` independent geometric variables (tries until the first success, each with q).

    With L = -ln(1 - q) it is the sum over t >= 0 of 1 - (1 - exp(-L t))^k, which is close to its integral H_k / L, H_k
    the k-th harmonic number, plus half of the first term (Euler and Maclaurin), and at least 1 / q, as of one variable.
    The error is below 2 % up to q = 0.8, and at most 18 % where hardly any of 512 groups fails.
    """
    if q <= 0 or q >= 1:
        return 1 / q if q > 0 else math.inf
    harmonic = math.fsum(1 / number for number in range(1, groups + 1))
    return max(1 / q, 0.5 - harmonic / math.log1p(-q))
