"""Gradients added up, which is what rules do between two steps."""

# ruff: noqa: N803, N815 - names of arrays end in their shapes

import math
from dataclasses import dataclass

import torch

from core.training.vectors.noise_scale import SquaredNorm


@dataclass(slots=True)
class GradientSum:
    """Gradients of batches, each weighted by the number of its samples; so is their loss."""

    gradients_N: torch.Tensor
    loss: float = 0.0
    samples: int = 0
    squares: float = 0.0
    """Squared norms of the batches' gradients, each weighted by the number of its samples."""
    batches: int = 0
    dropped: int = 0
    """Batches that did not count, since the start."""

    def add(self, gradients_N: torch.Tensor, *, samples: int, loss: float) -> bool:
        """Add the gradient of one batch, then clear it.

        Args:
            gradients_N: The mean over the batch's samples; zeros afterwards.
            samples: How many these are.
            loss: Their mean loss.

        Returns:
            Whether it counted: it does not when a number in it is not finite.
        """
        norm = torch.linalg.vector_norm(gradients_N, dtype=torch.float64).item()
        finite = math.isfinite(norm) and math.isfinite(loss)
        if finite:
            self.squares += samples * norm**2
            self.batches += 1
            self.gradients_N.add_(gradients_N, alpha=samples)
            self.loss += samples * loss
            self.samples += samples
        self.dropped += not finite
        gradients_N.zero_()
        return finite

    def mean(self) -> torch.Tensor:
        """The mean gradient over all samples, a new vector; zeros when there are none."""
        return self.gradients_N / max(self.samples, 1)

    @property
    def single(self) -> SquaredNorm | None:
        """What single batches' gradients were like; None where there was none."""
        return SquaredNorm(self.squares / self.samples, self.samples / self.batches) if self.samples else None

    def take(self, other: "GradientSum") -> None:
        """Take over what another has added up, on this device or another one; nothing is left there."""
        self.gradients_N.add_(other.gradients_N.to(self.gradients_N.device))
        self.loss += other.loss
        self.samples += other.samples
        self.squares += other.squares
        self.batches += other.batches
        self.dropped += other.dropped
        other.dropped = 0
        other.clear()

    def clear(self) -> None:
        """Start anew at zero gradients and no samples; what was dropped stays so."""
        self.gradients_N.zero_()
        self.loss, self.samples, self.squares, self.batches = 0.0, 0, 0.0, 0
