"""The shares that make a round shortest for given portions, and the whole chunks that come nearest to them.

Where only the lines limit the round, each member's seconds are a convex function of its own share alone, the larger of
two straight lines.  So for a time T each share has an interval, and T can be kept when the intervals admit a sum of 1:
T is bisected.  No solver is needed, many choices of portions are solved at once, and equal members get equal shares.

Where pairs of members are limited too, it is a linear program for HiGHS, with a row for each limited pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from core.averaging.balance.traffic import Fleet, Floats, Rows, rows
from core.base.arrays import np

TIE: Final = 1e-5
"""Worth of a second of reducing beside a second of the round: decides between divisions that are as short."""


def best_shares(members: Fleet, gives: Floats) -> Floats:
    """The shares for which lines and pairs are done soonest.

    Args:
        members: The members of the round.
        gives: What part of its contribution each gives, 0 to 1; shape N.
    """
    lines = rows(members, gives)
    shares = level_shares(lines, np.zeros(members.size), members.cap)
    if members.pair_seconds(gives, shares).max(initial=0.0) <= float(lines.seconds(shares).max()):
        return shares
    return _limited_shares(members, gives, level=shares)


def level_shares(lines: Rows, low: Floats, high: Floats) -> Floats:
    """The shares that make the slowest member fastest, and among those the ones that make the reducers fastest.

    A member that is slowest whatever it reduces does not make the others slow: they finish as early as they can, and it
    gets the share at which it is fastest, mostly none.

    Args:
        lines: The lines' seconds, for N members, or for K choices of portions at once.
        low: The least that each may reduce, at most 1 in sum; shape N.
        high: The most that each may reduce, at least 1 in sum; shape N.

    Returns:
        Shares that sum to 1 along the last axis; shape N, or K x N.
    """
    best = _fastest(lines, low, high)
    best_s = lines.seconds(best)

    def interval(seconds: Floats) -> tuple[Floats, Floats]:
        """The shares that keep the time, or the member's best where it never does."""
        kept = seconds >= best_s
        least, most = lines.within(seconds)
        return np.where(kept, np.clip(least, low, best), best), np.where(kept, np.clip(most, best, high), best)

    late = np.maximum(lines.seconds(low), lines.seconds(high)).max(axis=-1, keepdims=True)
    early = np.zeros_like(late)
    for _ in range(60):  # what remains is beyond the precision of the shares, also where lines differ by 10^6
        middle = 0.5 * (early + late)
        least, most = interval(middle)
        enough = (least.sum(axis=-1, keepdims=True) <= 1.0) & (most.sum(axis=-1, keepdims=True) >= 1.0)
        early, late = np.where(enough, early, middle), np.where(enough, middle, late)
    least, most = interval(late)
    missing, room = 1.0 - least.sum(axis=-1, keepdims=True), (most - least).sum(axis=-1, keepdims=True)
    part = np.divide(missing, room, out=np.zeros_like(room), where=room > 0)
    shares = least + np.clip(part, 0.0, 1.0) * (most - least)
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


def _fastest(lines: Rows, low: Floats, high: Floats) -> Floats:
    """The smallest share at which each member is done soonest: an end of its interval, or where both lines cross."""
    steeper = lines.slope[0] - lines.slope[1]
    crossing = np.divide(lines.base[1] - lines.base[0], steeper, out=np.zeros_like(steeper), where=steeper != 0)
    shares = np.stack(np.broadcast_arrays(low, np.clip(crossing, low, high), high))
    seconds = np.stack([lines.seconds(share) for share in shares])
    return np.asarray(np.take_along_axis(shares, seconds.argmin(axis=0)[None], axis=0)[0])


def _limited_shares(members: Fleet, gives: Floats, *, level: Floats) -> Floats:
    """The linear program: its variables are the shares, the time, and the most that reducing adds to one line's time.

    Args:
        members: The members of the round.
        gives: What part of its contribution each gives, 0 to 1; shape N.
        level: The best shares for the lines alone, whose time is the program's unit, so that coefficients are near 1.
    """
    from scipy.optimize import linprog  # noqa: PLC0415 - an idle engine does without it

    size, lines, count = members.size, rows(members, gives), len(members.rate)
    unit_s = float(lines.seconds(level).max()) or 1.0
    between = np.zeros((count, size))
    between[range(count), members.target], between[range(count), members.source] = members.pair_slopes(gives)
    up, down, most = (np.diag(slope) for slope in (*lines.slope, lines.slope.max(axis=0)))
    times = np.zeros((3 * size + count, 2))
    times[:-size, 0], times[-size:, 1] = -1.0, -1.0
    found = linprog(
        np.concatenate([np.zeros(size), [1.0 / TIE, 1.0]]),
        A_ub=np.concatenate([np.concatenate([up, down, between, most]) / unit_s, times], axis=1),
        b_ub=np.concatenate([-lines.base.ravel() / unit_s, np.zeros(count + size)]),
        A_eq=np.concatenate([np.ones(size), np.zeros(2)])[None],
        b_eq=[1.0],
        bounds=[(0.0, most) for most in (*members.cap, np.inf, np.inf)],
        method="highs",
    )
    if found.x is None:
        return level
    shares = np.clip(found.x[:size], 0.0, None)
    return np.asarray(shares / shares.sum())


def whole_shares(members: Fleet, gives: Floats, *, weights: Sequence[int], total: int, shown: Rows) -> tuple[int, ...]:
    """Divide `total` chunks so that the round is as short as whole chunks allow.

    Each member gets the whole part of its share; what remains goes, chunk by chunk, where the round stays shortest, and
    of those to the member that it delays least, the lower place first.

    Args:
        members: The members of the round.
        gives: What part of its contribution each gives, 0 to 1; shape N.
        weights: The best shares, in units of any size.
        total: Chunks.
        shown: The lines' seconds by which a chunk is given to one of several members with which the round is as short.
    """
    chunks = np.array([weight * total // sum(weights) for weight in weights], dtype=np.int64)
    lines, may = rows(members, gives), members.cap > 0
    parts, means = members.pair_slopes(gives)
    for _ in range(total - int(chunks.sum())):
        now, delays = lines.seconds(chunks / total), lines.seconds((chunks + 1) / total)
        busy = members.pair_seconds(gives, chunks / total)
        np.maximum.at(delays, members.target, busy + parts / total)
        np.maximum.at(delays, members.source, busy + means / total)
        slowest = int(now.argmax())
        others = np.full(members.size, now[slowest])
        others[slowest] = np.delete(now, slowest).max(initial=0.0)
        round_s = np.where(may, np.maximum(delays, others), np.inf)
        chunks[np.lexsort((shown.seconds((chunks + 1) / total), round_s))[0]] += 1
    return tuple(int(count) for count in chunks)


def apportion(total: int, weights: Sequence[int]) -> tuple[int, ...]:
    """Divide `total` things by whole weights (Hagenbach-Bischoff: quota w * (total + 1) / W, then highest averages).

    The same on every machine: whole numbers only, ties go to the lower index.

    Raises:
        ValueError: a negative weight, or none above 0.
    """
    whole = sum(weights)
    if whole <= 0 or min(weights) < 0:
        raise ValueError("weights must not be negative, and one must be above 0")
    seats = [max(0, -(-weight * (total + 1) // whole) - 1) for weight in weights]
    while sum(seats) < total:
        best = 0
        for index in range(1, len(weights)):
            if weights[index] * (seats[best] + 1) > weights[best] * (seats[index] + 1):
                best = index
        seats[best] += 1
    return tuple(seats)
