"""Among divisions that are as short by what lines offer, the one that is shortest by what they have shown.

Lines that have never been full offer more than they have shown, so that rounds find out what they carry.  Where the
round does not get shorter by it, nothing is to be found out: a member that is given work on a mere offer may turn out
to be as slow as the slowest, and all wait for it.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from core.averaging.balance.fleet import Balance, Line, Work
from core.averaging.balance.shares import HALVINGS, level_shares
from core.averaging.balance.solver import WEIGHT_UNIT, round_seconds, share_chunks
from core.averaging.balance.traffic import EPSILON, Fleet, Floats, Rows, fleet, parts_of, rows

LONGER: Final = 0.001
"""So much longer than the shortest round may be what leaves more room."""
LONGEST: Final = 0.01
"""The same when whole chunks have added to it; members tolerate a little more."""


def reserved_chunks(
    lines: Sequence[Line], shown: Sequence[Line], work: Work, best: Balance, *, total: int
) -> tuple[int, ...]:
    """How many of `total` chunks each member reduces.

    Args:
        lines: The members, by what their lines offer.
        shown: By what their lines have shown.
        work: What is averaged.
        best: The balance for `lines`.
        total: Chunks.
    """
    offered, proven = fleet(lines, work), fleet(shown, work)
    gives = np.asarray(parts_of(best.gifts) * offered.gives)
    within = rows(offered, gives)
    least = np.array(best.weights, dtype=np.float64) / sum(best.weights)
    limit_s = max(best.seconds, float(within.seconds(least).max())) * (1 + LONGER)
    shares = level_shares(rows(proven, gives), _caps(within, offered, least, limit_s))
    shares = least + _part_of_the_way(within, least, shares, limit_s) * (shares - least)
    weights = tuple(int(weight) for weight in np.rint(shares * WEIGHT_UNIT))
    found = share_chunks(shown, work, replace(best, weights=weights), total=total)
    shortest = share_chunks(lines, work, best, total=total)
    shortest_s, found_s = (round_seconds(lines, work, chunks=chunks, gifts=best.gifts) for chunks in (shortest, found))
    return found if found_s <= shortest_s * (1 + LONGEST) else shortest


def _caps(lines: Rows, members: Fleet, least: Floats, limit_s: float) -> Floats:
    """The largest share of each with which it keeps the time, and at least the one that it has."""
    room = np.full(members.size, np.inf)
    for base, slope in ((lines.up_base, lines.up_slope), (lines.down_base, lines.down_slope)):
        rising = slope > 0
        room = np.minimum(room, np.divide(limit_s - base, slope, out=np.full_like(room, np.inf), where=rising))
    return np.asarray(np.minimum(np.maximum(room, least + EPSILON), members.cap))


def _part_of_the_way(lines: Rows, start: Floats, end: Floats, limit_s: float) -> float:
    """How far one may go towards `end` until a line that would be faster with more work takes too long.

    The busiest line's seconds are convex on the way, and `start` keeps the time.
    """
    low, high = 0.0, 1.0
    if float(lines.seconds(end).max()) <= limit_s:
        return high
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        kept = float(lines.seconds(start + middle * (end - start)).max()) <= limit_s
        low, high = (middle, high) if kept else (low, middle)
    return low
