"""The shortest round for given gifts where pairs of members are limited too: a linear program for HiGHS.

It has a variable for each share and one for the time, two rows for each member, and n (n - 1) rows for the pairs of
which few bind.  So it starts without them and takes in those that its answer breaks until none is broken: what comes
out is the optimum of the whole program.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.averaging.balance.alike import alike, evened
from core.averaging.balance.levels import level_shares
from core.averaging.balance.traffic import Fleet, Floats, Pairs, rows

_PASSES: Final = 40
_ROWS_A_MEMBER: Final = 4
"""Taken in at a time, for each member."""
_NEARLY: Final = 0.8
"""Of the round's time: pairs that are busy for so much are likely to bind soon."""
_TINY_S: Final = 1e-300
_EPSILON: Final = 1e-9
"""Of the round's time: a pair that is busy for so much longer counts as in time."""


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
        members: Who takes part.
        limits: Between pairs.
        gives: What part of its contribution each gives, 0 to 1; shape N.
        likely: Places of limits that mattered for similar gifts: with them it is found sooner.
    """
    lines = rows(members, gives)
    shares = level_shares(lines, members.cap)
    seconds = float(lines.seconds(shares).max())
    program = _Program(members, limits, gives, unit_s=max(seconds, _TINY_S))
    known, late = np.zeros(0, dtype=np.int64), program.late(shares, seconds)
    if likely is not None and len(late):
        late = np.union1d(late, likely)
    for _ in range(_PASSES):
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
    program = _Program(members, limits, gives, unit_s=max(best.seconds, _TINY_S))
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
        if not (busy > 1 + 3 * _EPSILON).any():
            return np.zeros(0, dtype=np.int64)
        order = np.argsort(-busy, kind="stable")[: _ROWS_A_MEMBER * self.members.size]
        return np.asarray(order[busy[order] > _NEARLY])

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
        for _ in range(_PASSES):
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
        some = np.flatnonzero(room > _EPSILON)
        matrix, bounds = self._rows(known)
        fullness = coo_array((1 / room[some], (np.arange(len(some)), some)), shape=(len(some), size))
        columns = np.append(np.zeros(matrix.shape[0]), -np.ones(len(some)))[:, None]
        found = _highs(
            np.append(np.zeros(size), 1.0),
            matrix=_beside(_over(matrix, fullness), columns),
            bounds=np.append(bounds + seconds / self.unit_s * (1 + _EPSILON), np.zeros(len(some))),
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
