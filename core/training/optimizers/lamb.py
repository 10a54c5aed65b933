"""LAMB (You et al. 2019, algorithm 2), with the numbers of S000, section 4.2.

Moments are freed from their bias towards zero, the norm of a parameter is clamped, biases and layer norms do not decay.
"""

# ruff: noqa: N803, N806 - names of arrays end in their shapes

import math
from typing import Annotated, ClassVar

import torch
from msgspec import Meta

from core.training.flat import FlatParameters
from core.training.optimizers.optimizer import Decay, Epsilon, OptimizerNumbers, WeightDecay, clip, learning_rate


class LambNumbers(OptimizerNumbers, frozen=True, kw_only=True):
    """What a manifest says about LAMB."""

    beta1: Decay = 0.9
    beta2: Decay = 0.999
    epsilon: Epsilon = 1e-6
    weight_decay: WeightDecay = 0.01
    clamp: Annotated[float, Meta(gt=0, le=1e12)] = 10_000.0
    """The norm of a parameter counts as at most this."""


class Lamb:
    """Owns the two moments, `m` and `v`, vectors of shape (N,)."""

    Numbers: ClassVar[type[OptimizerNumbers]] = LambNumbers

    def __init__(self, numbers: LambNumbers, parameters: FlatParameters) -> None:
        self._numbers = numbers
        self._parameters = parameters
        self.state = {name: torch.zeros_like(parameters.values_N) for name in ("m", "v")}

    def step(self, gradient_N: torch.Tensor, *, taken: int, epoch: int) -> None:
        """Move each parameter by a step of the length of the parameter itself, times the learning rate.

        Args:
            gradient_N: The mean gradient; it is overwritten.
            taken: Steps that the moments have taken before.
            epoch: Steps that the collaboration has taken before.
        """
        numbers, m_N, v_N = self._numbers, self.state["m"], self.state["v"]
        clip(gradient_N, numbers.max_grad_norm)
        m_N.lerp_(gradient_N, 1 - numbers.beta1)
        v_N.mul_(numbers.beta2).addcmul_(gradient_N, gradient_N, value=1 - numbers.beta2)
        first = 1 - numbers.beta1 ** (taken + 1)
        second = 1 - numbers.beta2 ** (taken + 1)
        update_N = gradient_N.copy_(v_N).div_(second).sqrt_().add_(numbers.epsilon)
        torch.div(m_N / first, update_N, out=update_N)
        rate = learning_rate(numbers, epoch)
        for span in self._parameters.spans:
            value, update = span.of(self._parameters.values_N), span.of(update_N)
            if span.decays:
                update.add_(value, alpha=numbers.weight_decay)
            value.add_(update, alpha=-rate * _trust(value, update, numbers.clamp))


def _trust(value: torch.Tensor, update: torch.Tensor, clamp: float) -> float:
    """How far this parameter may go: its own norm, in units of the update's."""
    value_norm = min(torch.linalg.vector_norm(value).item(), clamp)
    update_norm = torch.linalg.vector_norm(update).item()
    ratio = value_norm / update_norm if value_norm and update_norm else 1.0
    return ratio if math.isfinite(ratio) else 1.0
