"""Members that could change places without anybody noticing; a fair division treats them alike."""

import numpy as np
from numpy.typing import NDArray

from core.averaging.balance.traffic import Fleet, Floats, Pairs


def alike(members: Fleet, limits: Pairs, *others: Floats) -> NDArray[np.int64]:
    """A number for each member, the same for those that are alike.

    Args:
        members: Who takes part.
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
