"""The plan of S000 appendix B: the shares that members reduce and the parts that they give, for the shortest round.

The constraints are laid out in `traffic`.  Where only the lines limit a round, bisection divides it exactly; where
pairs are limited too, it is a linear program (`shares`).  Where a target batch is computed sooner than a round is over,
members give less, or only assist (`gifts`).  `docs/decisions/0007-balance.md` says why it is so.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from core.averaging.balance.fleet import Balance, Line, Work, apportion
from core.averaging.balance.gifts import FREE, best_gifts, filled, free_raises, good_gifts, refined, whole
from core.averaging.balance.merit import Merit, covers, merit, rounded, settled, with_shares
from core.averaging.balance.traffic import Fleet, Floats, Pairs, fleet, pairs, parts_of, seconds_of
from core.averaging.balance.whole import whole_shares
from core.averaging.plan import WHOLE_GIFT
from core.base.problems import RemoteProblem

WEIGHT_UNIT: Final = 1 << 30
"""A share of the whole vector as a weight; less than half of one of these is none."""
TRIES: Final = 6
"""Upper bound on how often a choice is improved before it is published."""
SURE: Final = 0.003
"""A plan is published when what members do to verify it gains a smaller part; well within what they tolerate."""
CHECK_STEPS: Final = 2
"""Number of linear programs by which a member verifies gifts: a fraction of a second for 64 members."""

PairLimits = Mapping[tuple[int, int], float]
"""Bytes a second from one member's place to another's, where less than their lines carry."""


def balance(lines: Sequence[Line], work: Work, *, pair_limits: PairLimits | None = None) -> Balance:
    """Divide a round.

    Args:
        lines: The members, in the plan's order.
        work: What is averaged.
        pair_limits: Bytes a second from one member to another.

    Raises:
        ValueError: there are no members.
    """
    members = fleet(lines, work)
    limits = pairs(members, pair_limits)
    best = best_gifts(members, limits)
    best = settled(members, limits, best) if whole(members, best) else _sure(members, limits, best)
    return Balance(weights=_weights(best.shares), gifts=_gifts(best), seconds=best.seconds)


def share_chunks(
    lines: Sequence[Line], work: Work, divided: Balance, *, total: int, pair_limits: PairLimits | None = None
) -> tuple[int, ...]:
    """How many of `total` chunks each member reduces, for a round as short as whole chunks allow.

    Better than weights alone can tell where chunks are few: a slow peer's half chunk becomes none, not one.
    """
    members = fleet(lines, work)
    return whole_shares(
        members, pairs(members, pair_limits), gives=_given(members, divided.gifts), weights=divided.weights, total=total
    )


def round_seconds(
    lines: Sequence[Line],
    work: Work,
    *,
    chunks: Sequence[int],
    gifts: Sequence[int],
    pair_limits: PairLimits | None = None,
) -> float:
    """How long a round with given shares takes where nothing but the lines counts.

    Args:
        lines: The members, in the plan's order.
        work: What is averaged.
        chunks: What each reduces, in units of any size.
        gifts: How many 256ths of its chunks each gives.
        pair_limits: Bytes a second from one member to another.

    Raises:
        ValueError: shares or gifts are not one for each member, or there are no shares.
    """
    if not len(lines) == len(chunks) == len(gifts) or sum(chunks) <= 0:
        raise ValueError("a round needs a share and a gift for each member, and one share above 0")
    members = fleet(lines, work)
    return _seconds(members, pairs(members, pair_limits), chunks, gives=_given(members, gifts))


def check_balance(
    lines: Sequence[Line],
    work: Work,
    *,
    chunks: Sequence[int],
    gifts: Sequence[int],
    pair_limits: PairLimits | None = None,
    tolerance: float = 0.01,
) -> None:
    """Refuse how another peer divided a round, where it is worse than this one's optimum by more than `tolerance`.

    Args:
        lines: The members, in the plan's order.
        work: What is averaged.
        chunks: What each reduces, in chunks.
        gifts: How many 256ths of its chunks each gives.
        pair_limits: Bytes a second from one member to another.
        tolerance: How much worse it may be, as a part of our own.

    Raises:
        RemoteProblem: says what is wrong.
    """
    if not len(lines) == len(chunks) == len(gifts) or sum(chunks) <= 0 or min(chunks) < 0:
        raise RemoteProblem("the plan has not one share and one gift for each member")
    if min(gifts) < 0 or max(gifts) > WHOLE_GIFT:
        raise RemoteProblem("the plan has a gift that is none")
    members = fleet(lines, work)
    if any(share for share, may in zip(chunks, members.cap, strict=True) if not may):
        raise RemoteProblem("the plan gives a share to a member that reduces none")
    limits = pairs(members, pair_limits)
    if members.gives.any() and not covers([gift if has else 0 for gift, has in zip(gifts, members.gives, strict=True)]):
        raise RemoteProblem("the plan leaves chunks that nobody gives")
    theirs = merit(members, limits, _given(members, gifts))
    _check_shares(members, limits, chunks, theirs=theirs, tolerance=tolerance)
    _check_gifts(members, limits, chunks, theirs=theirs, tolerance=tolerance)


def _sure(members: Fleet, limits: Pairs, best: Merit) -> Merit:
    """The choice, filled, and improved for as long as members that verify it could: they will not find a better one."""
    for _ in range(TRIES):
        best = filled(members, limits, best)
        better = _better(members, limits, best)
        if better.steps_per_s <= best.steps_per_s * (1 + SURE):
            return best
        best = better
    return filled(members, limits, best)


def _better(members: Fleet, limits: Pairs, choice: Merit) -> Merit:
    """What a few linear programs make of a choice."""
    return rounded(members, limits, refined(members, limits, choice, steps=CHECK_STEPS))


def _check_shares(members: Fleet, limits: Pairs, chunks: Sequence[int], *, theirs: Merit, tolerance: float) -> None:
    """Whether the round is as short as it can be with the plan's gifts."""
    seconds = _seconds(members, limits, chunks, gives=theirs.gives)
    if seconds <= theirs.seconds * (1 + tolerance):
        return
    total, weights = sum(chunks), _weights(settled(members, limits, theirs).shares)
    ours = (
        whole_shares(members, limits, gives=theirs.gives, weights=weights, total=total),
        apportion(total, weights),
    )
    enough_s = max(_seconds(members, limits, shares, gives=theirs.gives) for shares in ours)
    if seconds > enough_s * (1 + tolerance):
        raise RemoteProblem(f"the plan's round takes {seconds:.3g} s where {enough_s:.3g} s are enough")


def _check_gifts(members: Fleet, limits: Pairs, chunks: Sequence[int], *, theirs: Merit, tolerance: float) -> None:
    """Refuse gifts where better ones are at hand, or a member is left out that costs nothing."""
    if whole(members, theirs):
        return
    if not members.target_samples:
        raise RemoteProblem("the plan leaves out contributions though there is no target batch")
    ours = good_gifts(members, limits)
    if not whole(members, ours):
        start = ours if ours.beats(theirs, by=tolerance / 2) else theirs
        ours = _better(members, limits, start)
    if theirs.steps_per_s < ours.steps_per_s * (1 - tolerance):
        raise RemoteProblem(
            f"the plan's gifts allow {theirs.steps_per_s:.3g} steps a second where ours allow {ours.steps_per_s:.3g}"
        )
    starved = free_raises(members, limits, settled(members, limits, theirs), cost=FREE / 2)
    if len(starved) and len(limits.rate):
        divided = with_shares(members, limits, theirs, _parts(chunks))
        starved = np.intersect1d(starved, free_raises(members, limits, divided, cost=FREE / 2))
    if len(starved):
        raise RemoteProblem(f"the plan leaves out what member {starved[0]} could give at no cost")


def _seconds(members: Fleet, limits: Pairs, chunks: Sequence[int], *, gives: Floats) -> float:
    return seconds_of(members, limits, gives=gives, shares=_parts(chunks))


def _parts(chunks: Sequence[int]) -> Floats:
    return np.array(chunks, dtype=np.float64) / sum(chunks)


def _given(members: Fleet, gifts: Sequence[int]) -> Floats:
    """What is given: nothing by those that have nothing."""
    return np.asarray(parts_of(gifts) * members.gives)


def _weights(shares: Floats) -> tuple[int, ...]:
    """Shares as whole numbers; equal shares stay equal."""
    return tuple(int(weight) for weight in np.rint(shares * WEIGHT_UNIT))


def _gifts(choice: Merit) -> tuple[int, ...]:
    return tuple(int(gift) for gift in np.rint(choice.gives * WHOLE_GIFT))
