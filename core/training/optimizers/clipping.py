"""How far a gradient is scaled down before a step: to a fixed norm, and spikes to the usual one.

A batch of damaged text, or a step off a cliff, gives a mean gradient many times as long as those before it, which
spoils second moments for hundreds of steps.  A norm far beyond the last ones is told by their median and median
absolute deviation (Hampel 1974), which a few spikes do not move, as they would a running mean and variance.
When norms rise for good, the median follows within half the window.

The norms are part of the optimiser's state, and all of it is comparisons and single operations
(`core.training.optimizers.exact`), so equal states and equal means lead to the same decision everywhere.
"""

# ruff: noqa: N803 - names of arrays end in their shapes

import math
from typing import Final

import torch

from core.training.optimizers.exact import Vector, norm_of
from core.training.optimizers.storage import NOT_NEGATIVE, Bounds

WINDOW: Final = 64
"""Number of norms that are remembered; part of every checkpoint, so it never changes."""
LEAST: Final = 16
"""Number of norms below which nothing is known about usual ones."""
NORMAL: Final = 1.4826
"""Standard deviations in a median absolute deviation, where numbers are normally distributed."""
GREATEST: Final = float(torch.finfo(torch.float32).max)


class Clipping:
    """Bounds the Euclidean norm of the gradients of an optimiser.

    Args:
        norm_max: A gradient that is longer is scaled down to it.
        deviations: Standard deviations beyond the usual norm to which a greater norm is scaled down; 0:
            whatever comes.
    """

    def __init__(self, norm_max: float, *, deviations: float = 0.0) -> None:
        self._norm_max = norm_max
        self._deviations = deviations
        self._norms = torch.zeros(WINDOW)
        """The last ones, as they were before clipping, that of step i at place i modulo `WINDOW`; 0: none."""
        self.state = {"norms": self._norms} if deviations else {}
        """What it remembers, as a part of the optimiser's state."""
        self.bounds: Bounds = dict.fromkeys(self.state, NOT_NEGATIVE)
        self.clipped = 0.0
        """The share of the last gradient that was cut off."""

    def factor(self, gradient_N: Vector, *, taken: int) -> float:
        """The number by which the gradient of the next step has to be multiplied, at most 1.

        Args:
            gradient_N: As it came from the round.
            taken: Steps that the optimiser has taken before.
        """
        norm, limit = norm_of(gradient_N), self._norm_max
        if self._deviations:
            limit = min(limit, self._limit(norm))
            self._norms[taken % WINDOW] = min(norm, GREATEST)
        factor = limit / max(norm, limit)
        self.clipped = 1 - factor
        return factor

    def _limit(self, norm: float) -> float:
        """What a gradient of this norm is scaled down to: the median of the last norms, if it is a spike beside them.

        A spike is at least twice as long as usual, however even the last norms were.
        """
        norms = sorted(one for one in self._norms.tolist() if one)
        if len(norms) < LEAST:
            return math.inf
        median = norms[len(norms) // 2]
        deviation = NORMAL * sorted(abs(one - median) for one in norms)[len(norms) // 2]
        return median if norm > median + max(median, self._deviations * deviation) else math.inf
