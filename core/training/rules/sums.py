"""Gradients added up, which is what rules do between two steps."""

# ruff: noqa: N803, N815 - names of arrays end in their shapes

import math
from dataclasses import dataclass

import torch


@dataclass(slots=True)
class GradientSum:
    """Gradients of batches, each weighted by the number of its samples; so is their loss."""

    gradients_N: torch.Tensor
    loss: float = 0.0
    samples: int = 0

    def add(self, gradients_N: torch.Tensor, *, samples: int, loss: float) -> bool:
        """Add the gradient of one batch, then clear it.

        Args:
            gradients_N: The mean over the batch's samples; zeros afterwards.
            samples: How many these are.
            loss: Their mean loss.

        Returns:
            Whether it counted: it does not when a number in it is not finite.
        """
        finite = bool(torch.isfinite(gradients_N.sum(dtype=torch.float64)).item()) and math.isfinite(loss)
        if finite:
            self.gradients_N.add_(gradients_N, alpha=samples)
            self.loss += samples * loss
            self.samples += samples
        gradients_N.zero_()
        return finite

    def mean(self) -> torch.Tensor:
        """The mean gradient over all samples, a new vector; zeros when there are none."""
        return self.gradients_N / max(self.samples, 1)

    def take(self, other: "GradientSum") -> None:
        """Take over what another has added up; nothing is left there."""
        self.gradients_N.add_(other.gradients_N)
        self.loss += other.loss
        self.samples += other.samples
        other.clear()

    def clear(self) -> None:
        """Start anew at zero gradients and no samples."""
        self.gradients_N.zero_()
        self.loss, self.samples = 0.0, 0
