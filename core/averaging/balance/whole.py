"""Ideal shares of a vector become whole chunks, rounded in such a way that the round stays short."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.averaging.balance.traffic import Fleet, Floats, Pairs, Rows, rows

EXCHANGES: Final = 16
"""Upper bound on the chunks that are handed over; each is one of the few that rounding has misplaced."""


def whole_shares(
    members: Fleet, limits: Pairs, *, gives: Floats, weights: Sequence[int], total: int
) -> tuple[int, ...]:
    """Divide `total` chunks so that the round is as short as whole chunks allow.

    Each gets the whole part of its weight's share; what remains goes, chunk by chunk, to the member that it delays
    least, the lower place first.  Where lines alone limit the round no other division is shorter: in it, a member would
    have to take what here was too slow for all.

    Args:
        members: The members of the round.
        limits: Between pairs.
        gives: What part of its contribution each gives, 0 to 1; shape N.
        weights: The best shares, in units of any size.
        total: Chunks.
    """
    chunks = np.array([weight * total // sum(weights) for weight in weights], dtype=np.int64)
    lines, may = rows(members, gives), members.cap > 0
    for _ in range(total - int(chunks.sum())):
        more = (chunks + 1) / total
        delays = np.where(may, lines.seconds(more), np.inf)
        if len(limits.rate):
            delays = np.maximum(delays, _pair_delays(members, limits, gives, chunks / total, 1 / total))
        chunks[int(np.argmin(delays))] += 1
    if not len(limits.rate) and min(lines.up_slope.min(), lines.down_slope.min()) < 0:
        chunks = _exchanged(lines, may, chunks, total)
    return tuple(int(count) for count in chunks)


def _exchanged(lines: Rows, may: NDArray[np.bool_], chunks: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Chunks handed over, one at a time, by or to the slowest member while that helps.

    Where a member is faster with a larger share, adding chunks one by one may go the wrong way.
    """
    moves = np.concatenate([np.eye(len(chunks), dtype=np.int64), -np.eye(len(chunks), dtype=np.int64)])
    for _ in range(EXCHANGES):
        seconds = lines.seconds(chunks / total)
        slowest = int(np.argmax(seconds))
        tried = chunks + moves
        tried[:, slowest] -= moves.sum(axis=1)
        allowed = ((tried >= 0) & (may | (tried == 0))).all(axis=1)
        times = np.where(allowed, lines.seconds(tried / total).max(axis=1), np.inf)
        best = int(np.argmin(times))
        if times[best] >= seconds[slowest] * (1 - 1e-12):
            break
        chunks = tried[best]
    return chunks


def _pair_delays(members: Fleet, limits: Pairs, gives: Floats, shares: Floats, more: float) -> Floats:
    """How long the busiest pair of each member would be busy if its share were `more` larger."""
    now = limits.seconds(members, gives, shares)
    delays = np.zeros(members.size)
    there = members.part_bytes * gives[limits.source] * more / limits.rate
    back = members.mean_bytes * members.receives[limits.target] * more / limits.rate
    np.maximum.at(delays, limits.target, now + there)
    np.maximum.at(delays, limits.source, now + back)
    return delays
