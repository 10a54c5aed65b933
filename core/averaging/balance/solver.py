"""The plan of S000 appendix B: the shares that members reduce and the parts that they give, for the shortest round.

The constraints are laid out in `traffic`.  Where only the lines limit a round, bisection divides it exactly; where
pairs are limited too, it is a linear program (`shares`).  Where a target batch is computed sooner than a round is over,
members give less, or only assist (`gifts`).  `docs/decisions/0007-balance.md` says why it is so.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from core.averaging.balance.gifts import FREE, Choice, all_give, best_gifts, covers, divided, free_raises
from core.averaging.balance.shares import apportion, level_shares, whole_shares
from core.averaging.balance.traffic import Fleet, Floats, Line, PairLimits, Work, fleet, rows, seconds_of
from core.averaging.plan import WHOLE_GIFT
from core.base.problems import RemoteProblem

WEIGHT_UNIT: Final = 1 << 30
"""A share of the whole vector as a weight; less than half of one of these is none."""
AS_SHORT: Final = 0.01
"""Rounds whose times differ by no more than this part are taken to be as short: lines are not known better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """How a round is divided.  Equal input gives equal output on one machine; others verify, they do not recompute."""

    weights: tuple[int, ...]
    """Each member's share of the reducing, in whole numbers of any sum: for `apportion`."""
    gifts: tuple[int, ...]
    """How many 256ths of its chunks each member gives; `WHOLE_GIFT`: all (c_i = 1), 0: none (c_i = 0)."""
    seconds: float
    """How long the round takes where nothing but the lines counts."""


def balance(lines: Sequence[Line], work: Work, *, pair_limits: PairLimits | None = None) -> Balance:
    """Divide a round.

    Args:
        lines: The members, in the plan's order.
        work: What is averaged.
        pair_limits: Bytes a second from one member to another.

    Raises:
        ValueError: there are no members.
    """
    best = best_gifts(fleet(lines, work, pair_limits))
    gifts = tuple(int(gift) for gift in np.rint(best.gives * WHOLE_GIFT))
    return Balance(weights=_weights(best.shares), gifts=gifts, seconds=best.seconds)


def share_chunks(
    lines: Sequence[Line],
    work: Work,
    balanced: Balance,
    *,
    total: int,
    pair_limits: PairLimits | None = None,
    shown: Sequence[Line] | None = None,
) -> tuple[int, ...]:
    """How many of `total` chunks each member reduces, for a round as short as whole chunks allow.

    Better than weights alone can tell where chunks are few: a slow peer's half chunk becomes none, not one.

    Lines that have never been full offer more than they have shown, so that rounds find out what they carry.  Where the
    round does not get shorter by it, nothing is to be found out: a member that is given work on a mere offer may turn
    out to be as slow as the slowest, and all wait for it.

    Args:
        lines: The members, by what their lines offer.
        work: What is averaged.
        balanced: The balance for `lines`.
        total: Chunks.
        pair_limits: Bytes a second from one member to another.
        shown: The members by what their lines have shown: of the rounds that are about as short by what the lines offer
            it is the one that is shortest by this.  Not with pair limits.
    """
    members = fleet(lines, work, pair_limits)
    gives, weights = _given(members, balanced.gifts), balanced.weights
    offered = proven = rows(members, gives)
    if shown is not None:
        proven = rows(fleet(shown, work), gives)
        limit_s = float(offered.seconds(_parts(weights)).max()) * (1 + AS_SHORT)
        least, most = (np.clip(shares, 0.0, members.cap) for shares in offered.within(limit_s))
        weights = _weights(level_shares(proven, least, most))
    return whole_shares(members, gives, weights=weights, total=total, shown=proven)


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
    """
    members = fleet(lines, work, pair_limits)
    return _seconds(members, chunks, gives=_given(members, gifts))


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
        chunks: What each reduces, in chunks: one number for each member, not all 0.
        gifts: How many 256ths of its chunks each gives.
        pair_limits: Bytes a second from one member to another.
        tolerance: How much worse it may be, as a part of our own.

    Raises:
        RemoteProblem: says what is wrong.
    """
    members = fleet(lines, work, pair_limits)
    if any(share for share, may in zip(chunks, members.cap, strict=True) if not may):
        raise RemoteProblem("the plan gives a share to a member that reduces none")
    gives = _given(members, gifts)
    if members.gives.any() and not covers([int(gift) for gift in gives * WHOLE_GIFT]):
        raise RemoteProblem("the plan leaves chunks that nobody gives")
    theirs = divided(members, gives)
    _check_shares(members, chunks, theirs=theirs, tolerance=tolerance)
    _check_gifts(members, chunks, theirs=theirs, tolerance=tolerance)


def _check_shares(members: Fleet, chunks: Sequence[int], *, theirs: Choice, tolerance: float) -> None:
    """Refuse a round that is longer than the plan's gifts need."""
    seconds = _seconds(members, chunks, gives=theirs.gives)
    if seconds <= theirs.seconds * (1 + tolerance):
        return
    total, weights, lines = sum(chunks), _weights(theirs.shares), rows(members, theirs.gives)
    ours = (
        whole_shares(members, theirs.gives, weights=weights, total=total, shown=lines),
        apportion(total, weights),
    )
    enough_s = max(_seconds(members, shares, gives=theirs.gives) for shares in ours)
    if seconds > enough_s * (1 + tolerance):
        raise RemoteProblem(f"the plan's round takes {seconds:.3g} s where {enough_s:.3g} s are enough")


def _check_gifts(members: Fleet, chunks: Sequence[int], *, theirs: Choice, tolerance: float) -> None:
    """Refuse gifts where better ones are found, or a member is left out that costs nothing."""
    if all_give(members, theirs):
        return
    if not members.target_samples:
        raise RemoteProblem("the plan leaves out contributions though there is no target batch")
    ours = best_gifts(members)
    if theirs.steps_per_s < ours.steps_per_s * (1 - tolerance):
        raise RemoteProblem(
            f"the plan's gifts allow {theirs.steps_per_s:.3g} steps a second where ours allow {ours.steps_per_s:.3g}"
        )
    starved = free_raises(members, theirs, cost=FREE / 2)
    if len(starved) and len(members.limits.rate):
        planned = replace(theirs, shares=_parts(chunks))
        starved = np.intersect1d(starved, free_raises(members, planned, cost=FREE / 2))
    if len(starved):
        raise RemoteProblem(f"the plan leaves out what member {starved[0]} could give at no cost")


def _seconds(members: Fleet, chunks: Sequence[int], *, gives: Floats) -> float:
    return seconds_of(members, gives=gives, shares=_parts(chunks))


def _parts(chunks: Sequence[int]) -> Floats:
    return np.array(chunks, dtype=np.float64) / sum(chunks)


def _given(members: Fleet, gifts: Sequence[int]) -> Floats:
    """What is given: nothing by those that have nothing."""
    return np.array(gifts) / WHOLE_GIFT * members.gives


def _weights(shares: Floats) -> tuple[int, ...]:
    """Shares as whole numbers; equal shares stay equal."""
    return tuple(int(weight) for weight in np.rint(shares * WEIGHT_UNIT))
