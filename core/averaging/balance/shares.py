"""The shares that make a round shortest, for given gifts: by bisection, or a linear program where pairs are limited.

Where only the lines limit the round it is the program in n + 1 variables.  Each member's seconds are a convex function
of its own share alone, the larger of two straight lines.  So for a time T each share has an interval, and T can be kept
when the intervals admit a sum of 1.  No solver is needed, many choices of gifts are solved at once, and equal members
get equal shares.

Where pairs of members are limited too, it is a linear program for HiGHS.  It has a variable for each share and one for
the time, two rows for each member, and n (n - 1) rows for the pairs of which few bind.  So it starts without them and
takes in those that its answer breaks until none is broken: what comes out is the optimum of the whole program.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.averaging.balance.traffic import EPSILON, Fleet, Floats, Pairs, Rows, rows

HALVINGS: Final = 56
"""Steps of a bisection.  What remains is interpolated, which is exact: shares are straight lines of the time."""
PASSES: Final = 40
"""Upper bound on the linear programs of one division; pairs that are still broken then would add next to nothing."""
ROWS_A_MEMBER: Final = 4
"""Number of pairs that are taken in at a time, for each member."""
NEARLY: Final = 0.8
"""Part of the round's time: pairs that are busy for so much are likely to bind soon."""


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
        """The largest shares (the smallest where not `rising`) that keep the time, or the member's best."""
        moved = np.clip(upper.within(seconds, np.minimum), best, cap)
        if not all_rise:
            moved = np.where(rising, moved, np.clip(lower.within(seconds, np.maximum), 0.0, best))
        return np.asarray(np.where(seconds >= best_s, moved, best))

    low = np.zeros_like(rising, dtype=np.float64)
    high = np.maximum(rows.seconds(np.zeros_like(best)), rows.seconds(cap)).max(axis=-1, keepdims=True)
    for _ in range(HALVINGS):
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


def alike(members: Fleet, limits: Pairs, *others: Floats) -> NDArray[np.int64]:
    """A number for each member, the same for those that are alike.

    Args:
        members: The members of the round.
        limits: Between pairs.
        others: What else they must have in common, each of shape N.
    """
    rate = np.full((members.size, members.size), np.inf)
    rate[limits.source, limits.target] = limits.rate
    own = np.stack([members.up, members.down, members.gives, members.receives, members.cap, *others], axis=1)
    _, kind = np.unique(own, axis=0, return_inverse=True)
    kind = kind.reshape(members.size)
    if not len(limits.rate):
        return np.asarray(kind, dtype=np.int64)
    classes = np.full(members.size, -1, dtype=np.int64)
    for first in range(members.size):
        if classes[first] < 0:
            candidates = np.flatnonzero((kind == kind[first]) & (classes < 0)).tolist()
            classes[[j for j in candidates if j == first or _swaps(rate, first, j)]] = first
    return classes


def evened(values: Floats, classes: NDArray[np.int64]) -> Floats:
    """Each member's value replaced by the mean over those that are alike."""
    _, place = np.unique(classes, return_inverse=True)
    return np.asarray((np.bincount(place, values) / np.bincount(place))[place])


def _swaps(rate: Floats, one: int, other: int) -> bool:
    """Whether the limits stay as they are when two members change places."""
    order = np.arange(len(rate))
    order[[one, other]] = other, one
    return bool(np.array_equal(rate[one], rate[other][order]) and np.array_equal(rate[:, one], rate[:, other][order]))


@dataclass(frozen=True, slots=True)
class Limited:
    """The optimum, and which pairs it is known to depend on."""

    shares: Floats
    seconds: float
    """No shares make the round shorter than this."""
    known: NDArray[np.int64]
    """Places of the limits that were taken in."""


def limited_shares(members: Fleet, limits: Pairs, gives: Floats, *, likely: NDArray[np.int64] | None = None) -> Limited:
    """Some shares for which lines and pairs are done soonest.

    Args:
        members: The members of the round.
        limits: Between pairs.
        gives: What part of its contribution each gives, 0 to 1; shape N.
        likely: Places of limits that mattered for similar gifts: with them it is found sooner.
    """
    lines = rows(members, gives)
    shares = level_shares(lines, members.cap)
    seconds = float(lines.seconds(shares).max())
    program = _Program(members, limits, gives, unit_s=max(seconds, np.finfo(float).tiny))
    known, late = np.zeros(0, dtype=np.int64), program.late(shares, seconds)
    if likely is not None and len(late):
        late = np.union1d(late, likely)
    for _ in range(PASSES):
        more = np.union1d(known, late)
        if len(more) == len(known):
            break
        known = more
        found = program.solve(known)
        if found is None:
            break
        shares, seconds = found
        late = program.late(shares, seconds)
    return Limited(shares, seconds, known)


def settled_shares(members: Fleet, limits: Pairs, gives: Floats, *, likely: NDArray[np.int64] | None = None) -> Floats:
    """Of all shares as good as those, the ones in proportion to what each member has room for; alike for equals."""
    best = limited_shares(members, limits, gives, likely=likely)
    program = _Program(members, limits, gives, unit_s=max(best.seconds, np.finfo(float).tiny))
    shares = program.spread(best) if len(best.known) else best.shares
    return evened(shares, alike(members, limits, gives))


@dataclass(frozen=True, slots=True)
class _Program:
    """Rows `A w <= T` with the time in units of `unit_s`, so that coefficients are near 1."""

    members: Fleet
    limits: Pairs
    gives: Floats
    unit_s: float

    def late(self, shares: Floats, seconds: float) -> NDArray[np.int64]:
        """If pairs are busy for longer: those and some that nearly are, the worst ones first."""
        busy = self.limits.seconds(self.members, self.gives, shares) / seconds if seconds > 0 else np.zeros(0)
        if not (busy > 1 + 3 * EPSILON).any():
            return np.zeros(0, dtype=np.int64)
        order = np.argsort(-busy, kind="stable")[: ROWS_A_MEMBER * self.members.size]
        return np.asarray(order[busy[order] > NEARLY])

    def solve(self, known: NDArray[np.int64]) -> tuple[Floats, float] | None:
        """The best shares where only the `known` pairs are limited, and their time; None where HiGHS gives up."""
        size = self.members.size
        matrix, bounds = self._rows(known)
        time_column = -np.ones((matrix.shape[0], 1))
        answer = _highs(
            np.append(np.zeros(size), 1.0),
            matrix=_beside(matrix, time_column),
            bounds=bounds,
            caps=np.append(self.members.cap, np.inf),
        )
        return None if answer is None else (answer[:size], float(answer[size]) * self.unit_s)

    def spread(self, best: Limited) -> Floats:
        """Shares as good as these, with the fullest member as far as possible from the most it could take."""
        known = best.known
        for _ in range(PASSES):
            found = self._spread(known, best.seconds)
            if found is None:
                break
            late = self.late(found, best.seconds)
            if not len(late):
                return found
            more = np.union1d(known, late)
            if len(more) == len(known):
                break
            known = more
        return best.shares

    def _spread(self, known: NDArray[np.int64], seconds: float) -> Floats | None:
        from scipy.sparse import coo_array  # noqa: PLC0415 - an idle engine does without it

        size, lines = self.members.size, rows(self.members, self.gives)
        room = np.minimum(
            _room(lines.up_base, lines.up_slope, seconds), _room(lines.down_base, lines.down_slope, seconds)
        )
        room = np.minimum(room, self.members.cap)
        some = np.flatnonzero(room > EPSILON)
        matrix, bounds = self._rows(known)
        fullness = coo_array((1 / room[some], (np.arange(len(some)), some)), shape=(len(some), size))
        columns = np.append(np.zeros(matrix.shape[0]), -np.ones(len(some)))[:, None]
        found = _highs(
            np.append(np.zeros(size), 1.0),
            matrix=_beside(_over(matrix, fullness), columns),
            bounds=np.append(bounds + seconds / self.unit_s * (1 + EPSILON), np.zeros(len(some))),
            caps=np.append(self.members.cap, np.inf),
        )
        return None if found is None else found[:size]

    def _rows(self, known: NDArray[np.int64]) -> tuple[Any, Floats]:
        """Coefficients of the shares, and what they may come to beside the time."""
        from scipy.sparse import coo_array  # noqa: PLC0415 - an idle engine does without it

        size, own = self.members.size, np.arange(self.members.size)
        lines, pairs = rows(self.members, self.gives), np.arange(len(known)) + 2 * self.members.size
        source, target, rate = self.limits.source[known], self.limits.target[known], self.limits.rate[known]
        there = self.members.part_bytes * self.gives[source] / rate
        back = self.members.mean_bytes * self.members.receives[target] / rate
        values = np.concatenate([lines.up_slope, lines.down_slope, there, back]) / self.unit_s
        places = (np.concatenate([own, own + size, pairs, pairs]), np.concatenate([own, own, target, source]))
        bounds = -np.concatenate([lines.up_base, lines.down_base, np.zeros(len(known))]) / self.unit_s
        return coo_array((values, places), shape=(2 * size + len(known), size)), bounds


def _highs(cost: Floats, *, matrix: Any, bounds: Floats, caps: Floats) -> Floats | None:
    """Minimise over shares that sum to 1 and one more variable."""
    from scipy.optimize import linprog  # noqa: PLC0415 - an idle engine does without it

    whole = np.ones((1, len(cost)))
    whole[0, -1] = 0.0
    found = linprog(
        cost,
        A_ub=matrix,
        b_ub=bounds,
        A_eq=whole,
        b_eq=[1.0],
        bounds=np.stack([np.zeros(len(cost)), caps], axis=1),
        method="highs",
    )
    if found.x is None:
        return None
    values = np.clip(np.asarray(found.x, dtype=np.float64), 0.0, None)
    values[:-1] /= values[:-1].sum()
    return values


def _beside(matrix: Any, column: Floats) -> Any:
    from scipy.sparse import coo_array, hstack  # noqa: PLC0415 - an idle engine does without it

    return hstack([matrix, coo_array(column)]).tocsr()


def _over(matrix: Any, below: Any) -> Any:
    from scipy.sparse import vstack  # noqa: PLC0415 - an idle engine does without it

    return vstack([matrix, below])


def _room(base: Floats, slope: Floats, seconds: float) -> Floats:
    """The most that a line in this direction allows."""
    room = np.divide(seconds - base, slope, out=np.full_like(slope, np.inf), where=slope > 0)
    return np.asarray(np.maximum(room, 0.0))
