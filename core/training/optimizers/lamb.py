"""LAMB (You et al. 2019, algorithm 2), as the papers ran it (S000, section 4.2).

Moments are freed from their bias towards zero, the norm of a parameter is clamped, biases and layer norms do not decay,
and the mean gradient is scaled down when its norm exceeds a limit.  One step is one epoch of the collaboration.
"""

# ruff: noqa: N803, N806 - names of arrays end in their shapes

import math

import torch

from core.base.manifest import OptimizerNumbers
from core.training.flat import FlatParameters


class Lamb:
    """Takes steps; owns the two moments as vectors of shape (N,).

    Args:
        numbers: From the manifest.
        parameters: What it changes.
    """

    def __init__(self, numbers: OptimizerNumbers, parameters: FlatParameters) -> None:
        self._numbers = numbers
        self._parameters = parameters
        self.m_N = torch.zeros_like(parameters.values_N)
        self.v_N = torch.zeros_like(parameters.values_N)

    def step(self, gradient_N: torch.Tensor, epoch: int) -> None:
        """One step with the mean gradient.

        Args:
            gradient_N: The collaboration's mean, finite; it is changed.
            epoch: Steps taken before this one.
        """
        numbers = self._numbers
        norm = torch.linalg.vector_norm(gradient_N, dtype=torch.float64).item()
        if norm > numbers.max_grad_norm:
            gradient_N *= numbers.max_grad_norm / norm
        self.m_N.lerp_(gradient_N, 1 - numbers.beta1)
        self.v_N.mul_(numbers.beta2).addcmul_(gradient_N, gradient_N, value=1 - numbers.beta2)
        first = 1 - numbers.beta1 ** (epoch + 1)
        second = 1 - numbers.beta2 ** (epoch + 1)
        update_N = gradient_N.copy_(self.v_N).div_(second).sqrt_().add_(numbers.epsilon)
        torch.div(self.m_N / first, update_N, out=update_N)
        rate = learning_rate(numbers, epoch)
        for span in self._parameters.spans:
            value, update = span.of(self._parameters.values_N), span.of(update_N)
            if len(span.shape) > 1:
                update.add_(value, alpha=numbers.weight_decay)
            value.add_(update, alpha=-rate * _trust(value, update, numbers.clamp))


def learning_rate(numbers: OptimizerNumbers, epoch: int) -> float:
    """Linear warm-up to the full rate, then linear decay to zero at `total_epochs`.

    Args:
        numbers: From the manifest.
        epoch: Steps taken before this one.
    """
    warm = min(1.0, (epoch + 1) / max(numbers.warmup_epochs, 1))
    left = (numbers.total_epochs - epoch) / max(numbers.total_epochs - numbers.warmup_epochs, 1)
    return numbers.learning_rate * min(warm, max(left, 0.0))


def _trust(value: torch.Tensor, update: torch.Tensor, clamp: float) -> float:
    """How far this parameter may go: its own norm, in units of the update's."""
    value_norm = min(torch.linalg.vector_norm(value).item(), clamp)
    update_norm = torch.linalg.vector_norm(update).item()
    ratio = value_norm / update_norm if value_norm and update_norm else 1.0
    return ratio if math.isfinite(ratio) else 1.0
