"""The gradient's noise scale (McCandlish et al. 2018, "An Empirical Model of Large-Batch Training", appendix A.1).

A mean gradient of n samples has a squared norm of |G|^2 + tr(S) / n on average, with the true gradient G and the
covariance S of one sample's.  Norms at two sizes give both; tr(S) / |G|^2 is the number of samples at which noise and
gradient are equally large.  A target far below it wastes steps, one far above it wastes samples.
"""

from dataclasses import dataclass
from typing import Final

MEMORY: Final = 0.95
"""The share of a running mean that one step keeps.  The two are smoothed apart, for their quotient is biased."""


@dataclass(frozen=True, slots=True)
class SquaredNorm:
    """The squared norm of a mean gradient, or the mean of several."""

    squared: float
    samples: float
    """Samples of each mean gradient; for batches of unequal size, weighted by it, their mean size."""


class NoiseScale:
    """Estimates it from step to step."""

    def __init__(self) -> None:
        self._gradient = 0.0
        """Running mean of estimates of |G|^2; like the other one it begins at zero, which cancels out."""
        self._noise = 0.0

    def add(self, small: SquaredNorm, large: SquaredNorm) -> None:
        """Take in one step; nothing can be told where the sizes are equal.

        Args:
            small: Norm of single batches' gradients.
            large: Norm of the mean with which the step was taken.
        """
        if not 0 < small.samples < large.samples:
            return
        between = large.samples - small.samples
        gradient = (large.samples * large.squared - small.samples * small.squared) / between
        noise = (small.squared - large.squared) * small.samples * large.samples / between
        self._gradient += (1 - MEMORY) * (gradient - self._gradient)
        self._noise += (1 - MEMORY) * (noise - self._noise)

    @property
    def samples(self) -> float | None:
        """The noise scale; None: not known yet, or noise hides the gradient."""
        return self._noise / self._gradient if self._gradient > 0 and self._noise > 0 else None
