"""The shortest round for given gifts where only the lines limit it: the program in n + 1 variables, by bisection.

Each member's seconds are a convex function of its own share alone, the larger of two straight lines.  So for a time T
each share has an interval, and T can be kept when the intervals admit a sum of 1.  No solver is needed, many choices of
gifts are solved at once, and equal members get equal shares.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core.averaging.balance.traffic import Floats, Rows

_STEPS = 56
"""Halvings.  What remains after them is interpolated, which is exact, since shares are straight lines of the time."""


def level_shares(rows: Rows, cap: Floats) -> Floats:
    """The shares that make the slowest member fastest, and among those the ones that make the reducers fastest.

    A member that is slowest whatever it reduces does not make the others slow: they finish as early as they can, and it
    gets the share at which it is fastest, mostly none.

    Args:
        rows: The lines' seconds; N, or K x N for K choices at once.
        cap: The most each may reduce, at least 1 in sum; shape N.

    Returns:
        Shares that sum to 1 along the last axis; shape of the rows.
    """
    best, best_s = _fastest(rows, cap)
    upper, lower = _ends(rows, sign=1.0), _ends(rows, sign=-1.0)
    cap = np.maximum(cap, best)
    rising = best.sum(axis=-1, keepdims=True) <= 1.0
    all_rise = bool(rising.all())

    def at(seconds: Floats) -> Floats:
        """The largest shares (the smallest where not `rising`) that keep the time; who cannot keep it, its best."""
        moved = np.clip(upper.within(seconds, np.minimum), best, cap)
        if not all_rise:
            moved = np.where(rising, moved, np.clip(lower.within(seconds, np.maximum), 0.0, best))
        return np.asarray(np.where(seconds >= best_s, moved, best))

    low = np.zeros_like(rising, dtype=np.float64)
    high = np.maximum(rows.seconds(np.zeros_like(best)), rows.seconds(cap)).max(axis=-1, keepdims=True)
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        total = at(middle).sum(axis=-1, keepdims=True)
        enough = np.where(rising, total >= 1.0, total <= 1.0)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return _between(at(low), at(high))


def _fastest(rows: Rows, cap: Floats) -> tuple[Floats, Floats]:
    """The smallest share at which each member is done soonest, and when that is."""
    slope = rows.up_slope - rows.down_slope
    crossing = np.divide(rows.down_base - rows.up_base, slope, out=np.zeros_like(slope), where=np.abs(slope) > 0)
    least, most = np.minimum(rows.up_slope, rows.down_slope), np.maximum(rows.up_slope, rows.down_slope)
    share = np.where(least >= 0, 0.0, np.where(most < 0, cap, np.clip(crossing, 0.0, cap)))
    return share, rows.seconds(share)


@dataclass(frozen=True, slots=True)
class _Ends:
    """Where the lines that rise (or fall) with the share cross a time: at `(seconds - base) / slope`."""

    bases: tuple[Floats, Floats]
    per_slope: tuple[Floats, Floats]

    def within(self, seconds: Floats, nearer: Callable[[Floats, Floats], Floats]) -> Floats:
        """The share that both directions allow."""
        up, down = ((seconds - base) * per for base, per in zip(self.bases, self.per_slope, strict=True))
        return nearer(up, down)


def _ends(rows: Rows, *, sign: float) -> _Ends:
    bases, per_slope = [], []
    for base, slope in ((rows.up_base, rows.up_slope), (rows.down_base, rows.down_slope)):
        counts = sign * slope > 0
        bases.append(np.where(counts, base, -sign * np.inf))
        per_slope.append(np.divide(1.0, slope, out=np.ones_like(slope), where=counts))
    return _Ends((bases[0], bases[1]), (per_slope[0], per_slope[1]))


def _between(one: Floats, other: Floats) -> Floats:
    """On the way from one point to the other, where the sum is 1."""
    start, end = one.sum(axis=-1, keepdims=True), other.sum(axis=-1, keepdims=True)
    way = np.divide(1.0 - start, end - start, out=np.ones_like(start), where=np.abs(end - start) > 0)
    shares = one + np.clip(way, 0.0, 1.0) * (other - one)
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))
