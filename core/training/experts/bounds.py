"""What one trainer's gradients can do to an expert: a bound on each row, and a share of each update.

A trainer is known by its account: all computers of one account count as one.  What the worst account gains: a row of
its gradient counts for as much as one of `NORM_RATIO_MAX` times the usual norm, however large it is, and takes as much
more of the account's share; once four accounts ask, that is a quarter of a full update, and an eighth of it until a
round has counted its samples, while an account asks that a round has counted; a gradient that is late beyond the
manifest's `staleness` has no weight.  An update that calls end before it is full waits while one account, or all
newcomers together, have more than a third of it, but no longer than `WAIT_S`: nobody can stop an expert.  What is usual
is the median of the accounts' medians, so less than half of the accounts do not move it.  Not bounded: what a quarter
of colluding accounts does to one expert.
"""

# ruff: noqa: N803 - names of arrays end in their shapes

import math
from collections import OrderedDict, deque
from statistics import median_low
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

NORM_RATIO_MAX: Final = 3.0
"""A row of a larger norm, in usual ones, is scaled down to this."""
NORMS_KEPT: Final = 64
"""Number of an account's last norms of which the median is taken."""
ACCOUNTS_KEPT: Final = 256
"""Number of accounts whose norms are remembered; the one that asked longest ago is forgotten."""
SHARE_MAX: Final = 0.25
"""Share of an update's weight that one account has, once `ASKING_MIN` ask."""
ASKING_MIN: Final = 4
NEWCOMER: Final = 0.125
"""Part of that share for an account whose samples no round has counted, while one asks that a round has counted."""
THIN_SHARE_MAX: Final = 1 / 3
"""Share that one account has of an update that is not full, unless that has waited."""
WAIT_S: Final = 5.0
"""Upper bound on how long an update waits for other accounts."""
ASKING_S: Final = 60.0
"""An account asks for this long after its last gradient; counted in calls, one that floods could hide the others."""
STALE_BUCKETS: Final = 15
"""Number of buckets in which late gradients are counted: 0, 1, 2 to 3, 4 to 7 and so on, updates."""
VERSION_MAX: Final = 1 << 40
"""Upper bound on an expert's version: a file says no more, and no step leads beyond what a message can say."""
NORM_MAX: Final = float(np.finfo(np.float32).max)

Rows: TypeAlias = NDArray[np.float32]
Norms: TypeAlias = NDArray[np.float32]


class UsualNorm:
    """The usual norm of a row of gradients in one layer: the median over accounts of the median of each."""

    def __init__(self) -> None:
        self._accounts: OrderedDict[bytes, deque[float]] = OrderedDict()
        self._medians: dict[bytes, float] = {}

    def heard(self, account: bytes, norms: Norms) -> None:
        """Take the norms of an account's rows, as they came; rows of zeros say nothing."""
        kept = self._accounts.pop(account, None)
        kept = deque(maxlen=NORMS_KEPT) if kept is None else kept
        kept.extend(norms[norms > 0][:NORMS_KEPT].tolist())
        if not kept:
            return
        self._accounts[account] = kept
        self._medians[account] = median_low(kept)
        if len(self._accounts) > ACCOUNTS_KEPT:
            gone, _ = self._accounts.popitem(last=False)
            del self._medians[gone]

    @property
    def most(self) -> float:
        """The norm that a row may have; 0 before any was heard."""
        return NORM_RATIO_MAX * median_low(self._medians.values()) if self._medians else 0.0

    def scales(self, norms: Norms) -> Norms:
        """By how much each row is to be scaled, 0 to 1."""
        most = np.float32(min(self.most, NORM_MAX))
        return np.where(norms > most, most / np.maximum(norms, np.float32(1e-30)), np.float32(1)).astype(np.float32)

    def size(self, norms: Norms) -> float:
        """What rows come to, each scaled down if it has to be, in rows of the usual norm."""
        usual = max(self.most / NORM_RATIO_MAX, 1e-30)
        return float(np.minimum(norms.astype(np.float64) / usual, NORM_RATIO_MAX).sum())


class UpdateShares:
    """What each account has of the weight of an expert's next update, and when that is due.

    It is due once its weight is that of `rows`, or after so many calls; where one account has more than its share then,
    it waits for others, for a while.

    Args:
        rows: The manifest's `step_rows`.
        calls: The manifest's `step_calls`.
    """

    def __init__(self, *, rows: int, calls: int) -> None:
        self._rows = rows
        self._calls = calls
        self._asked: OrderedDict[bytes, tuple[float, bool]] = OrderedDict()
        """By account, when it last sent gradients, and whether a round had counted it; the longest ago first."""
        self._used: dict[bytes, float] = {}
        self._newcomers = 0.0
        """The weight that all newcomers have together."""
        self._count = 0
        """Number of calls, also of those that weigh nothing: accounts that have used their share do not stop it."""
        self._since = self._now = 0.0
        self.total = 0.0
        """The weight that the update has so far, in rows."""
        self._size = 0.0
        """What these rows come to."""

    @property
    def is_due(self) -> bool:
        """Whether the update is to be taken."""
        if self._size >= self._rows:
            return True
        if self._count < self._calls or self.total == 0:
            return False
        most = max(self._newcomers, *self._used.values())
        waits = self._shared and most > THIN_SHARE_MAX * self._size and self._now < self._since + WAIT_S
        return not waits

    def weight(self, account: bytes, rows: int, *, size: float = 0.0, counted: bool, now: float) -> float:
        """Weight of each row of a call, 0 to 1; it is the same for all, so that no sample is left out alone.

        Args:
            account: Whose call it is.
            rows: Number of its rows.
            size: What these come to, in rows of the usual norm: large ones take more of the account's share.
            counted: Whether a round has counted the account's samples.
            now: Seconds of a clock that only goes forward.
        """
        self._asked.pop(account, None)
        self._asked[account] = now, counted
        while len(self._asked) > ACCOUNTS_KEPT or next(iter(self._asked.values()))[0] <= now - ASKING_S:
            self._asked.popitem(last=False)
        self._since, self._now = self._since if self._count else now, now
        self._count += 1
        used, size = self._used.get(account, 0.0), max(rows, size)
        newcomer = not counted and any(known for _, known in self._asked.values())
        weight = 1.0
        if self._shared:
            share = SHARE_MAX * NEWCOMER if newcomer else SHARE_MAX
            weight = min(1.0, max(0.0, share * self._rows - used) / size)
        self._used[account] = used + weight * size
        self._newcomers += weight * size if newcomer else 0.0
        self.total += weight * rows
        self._size += weight * size
        return weight

    def updated(self) -> None:
        """The update is taken: a new one begins."""
        self._used.clear()
        self._count, self.total, self._size, self._newcomers = 0, 0.0, 0.0, 0.0

    @property
    def _shared(self) -> bool:
        return len(self._asked) >= ASKING_MIN


def stale_bucket(updates: int) -> int:
    """The bucket of a gradient that is late by this many updates."""
    return min(max(0, updates).bit_length(), STALE_BUCKETS - 1)


def row_norms(rows_RN: Rows) -> Norms:
    """Euclidean norm of each row, shape (R,), also of rows whose squares go beyond float32."""
    wide = rows_RN.astype(np.float64)
    norms = np.sqrt(np.einsum("rn,rn->r", wide, wide))
    bounded: Norms = np.minimum(norms, NORM_MAX).astype(np.float32)
    return bounded


def is_finite(rows_RN: Rows) -> bool:
    """Whether all numbers are finite; their sum is, too, as a rule, and costs less than a look at each."""
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(rows_RN.sum()) or bool(np.isfinite(rows_RN).all())
