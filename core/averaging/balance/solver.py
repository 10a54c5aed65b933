"""How a balanced round is cut into whole chunks, and how another member's plan is checked (S000 appendix B).

The constraints are laid out in `traffic`.  Where only the lines limit a round, bisection divides it exactly; where
pairs are limited too, it is a linear program (`shares`).  Where a target batch is computed sooner than a round is over,
members give less, or only assist (`portions`).  `docs/decisions/0007-balance.md` says why it is so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from core.averaging.balance.portions import (
    FREE,
    Choice,
    all_give,
    best_portions,
    covers,
    divided,
    free_raises,
    weights_of,
)
from core.averaging.balance.shares import apportion, level_shares, whole_shares
from core.averaging.balance.traffic import Fleet, Floats, rows, seconds_of
from core.averaging.plan import WHOLE_PORTION
from core.base.arrays import np
from core.base.problems import RemoteProblem

AS_SHORT: Final = 0.01
"""Rounds whose times differ by no more than this part are taken to be as short: lines are not known better."""


def share_chunks(members: Fleet, best: Choice, *, total: int, shown: Fleet | None = None) -> tuple[int, ...]:
    """How many of `total` chunks each member reduces, for a round as short as whole chunks allow.

    Better than weights alone can tell where chunks are few: a slow peer's half chunk becomes none, not one.

    Lines that have never been full offer more than they have shown, so that rounds find out what they carry.  Where the
    round does not get shorter by it, nothing is to be found out: a member that is given work on a mere offer may turn
    out to be as slow as the slowest, and all wait for it.

    Args:
        members: The members, by what their lines offer.
        best: The balance for `members`.
        total: Chunks.
        shown: The members by what their lines have shown: of the rounds that are about as short by what the lines offer
            it is the one that is shortest by this.  Not with pair limits.
    """
    offered = proven = rows(members, best.gives)
    weights = best.weights
    if shown is not None:
        proven = rows(shown, best.gives)
        limit_s = float(offered.seconds(_parts(weights)).max()) * (1 + AS_SHORT)
        least, most = (np.clip(shares, 0.0, members.cap) for shares in offered.within(limit_s))
        weights = weights_of(level_shares(proven, least, most))
    return whole_shares(members, best.gives, weights=weights, total=total, shown=proven)


def round_seconds(members: Fleet, *, chunks: Sequence[int], portions: Sequence[int]) -> float:
    """How long a round with given shares takes where nothing but the lines counts.

    Args:
        members: The members of the round.
        chunks: What each reduces, in units of any size.
        portions: How many 256ths of its chunks each gives.
    """
    return seconds_of(members, gives=_given(members, portions), shares=_parts(chunks))


def check_balance(members: Fleet, *, chunks: Sequence[int], portions: Sequence[int], tolerance: float = 0.01) -> None:
    """Refuse how another peer divided a round, where it is worse than this one's optimum by more than `tolerance`.

    Args:
        members: The members of the round.
        chunks: What each reduces, in chunks: one number for each member, not all 0.
        portions: How many 256ths of its chunks each gives.
        tolerance: How much worse it may be, as a part of our own.

    Raises:
        RemoteProblem: says what is wrong.
    """
    if any(share for share, may in zip(chunks, members.cap, strict=True) if not may):
        raise RemoteProblem("the plan gives a share to a member that reduces none")
    gives = _given(members, portions)
    if members.gives.any() and not covers([int(portion) for portion in gives * WHOLE_PORTION]):
        raise RemoteProblem("the plan leaves chunks that nobody gives")
    theirs = divided(members, gives)
    _check_shares(members, chunks, theirs=theirs, tolerance=tolerance)
    _check_portions(members, chunks, theirs=theirs, tolerance=tolerance)


def _check_shares(members: Fleet, chunks: Sequence[int], *, theirs: Choice, tolerance: float) -> None:
    """Refuse a round that is longer than the plan's portions need."""
    seconds = seconds_of(members, gives=theirs.gives, shares=_parts(chunks))
    if seconds <= theirs.seconds * (1 + tolerance):
        return
    ours = share_chunks(members, theirs, total=sum(chunks)), apportion(sum(chunks), theirs.weights)
    enough_s = max(seconds_of(members, gives=theirs.gives, shares=_parts(each)) for each in ours)
    if seconds > enough_s * (1 + tolerance):
        raise RemoteProblem(f"the plan's round takes {seconds:.3g} s where {enough_s:.3g} s are enough")


def _check_portions(members: Fleet, chunks: Sequence[int], *, theirs: Choice, tolerance: float) -> None:
    """Refuse portions where better ones are found, or a member is left out that costs nothing."""
    if all_give(members, theirs):
        return
    if not members.target_samples:
        raise RemoteProblem("the plan leaves out contributions though there is no target batch")
    ours = best_portions(members)
    if theirs.steps_per_s < ours.steps_per_s * (1 - tolerance):
        raise RemoteProblem(
            f"the plan's portions allow {theirs.steps_per_s:.3g} steps a second where ours allow {ours.steps_per_s:.3g}"
        )
    starved = free_raises(members, theirs, cost=FREE / 2)
    if len(starved) and len(members.rate):
        planned = replace(theirs, shares=_parts(chunks))
        starved = np.intersect1d(starved, free_raises(members, planned, cost=FREE / 2))
    if len(starved):
        raise RemoteProblem(f"the plan leaves out what member {starved[0]} could give at no cost")


def _parts(chunks: Sequence[int]) -> Floats:
    return np.array(chunks, dtype=np.float64) / sum(chunks)


def _given(members: Fleet, portions: Sequence[int]) -> Floats:
    """What is given: nothing by those that have nothing."""
    return np.array(portions) / WHOLE_PORTION * members.gives
