"""AdamW (Loshchilov and Hutter 2019, algorithm 2): Adam whose weight decay is no part of the gradient."""

# ruff: noqa: N803, N806 - names of arrays end in their shapes

import math
from typing import ClassVar

import torch

from core.training.flat import FlatParameters
from core.training.optimizers.optimizer import Decay, Epsilon, OptimizerNumbers, WeightDecay, clip, learning_rate


class AdamWNumbers(OptimizerNumbers, frozen=True, kw_only=True):
    """What a manifest says about AdamW."""

    beta1: Decay = 0.9
    beta2: Decay = 0.999
    epsilon: Epsilon = 1e-8
    weight_decay: WeightDecay = 0.01
    """Matrices decay; biases and layer norms do not."""


class AdamW:
    """Owns the two moments, `m` and `v`, vectors of shape (N,)."""

    Numbers: ClassVar[type[OptimizerNumbers]] = AdamWNumbers

    def __init__(self, numbers: AdamWNumbers, parameters: FlatParameters) -> None:
        self._numbers = numbers
        self._parameters = parameters
        self.state = {name: torch.zeros_like(parameters.values_N) for name in ("m", "v")}

    def step(self, gradient_N: torch.Tensor, *, taken: int, epoch: int) -> None:
        """Move each number by about the learning rate, against the sign of its mean gradient.

        Args:
            gradient_N: The mean gradient; it is overwritten.
            taken: Steps that the moments have taken before.
            epoch: Steps that the collaboration has taken before.
        """
        numbers, m_N, v_N = self._numbers, self.state["m"], self.state["v"]
        clip(gradient_N, numbers.max_grad_norm)
        m_N.lerp_(gradient_N, 1 - numbers.beta1)
        v_N.mul_(numbers.beta2).addcmul_(gradient_N, gradient_N, value=1 - numbers.beta2)
        rate = learning_rate(numbers, epoch)
        for span in self._parameters.spans:
            if span.decays:
                span.of(self._parameters.values_N).mul_(1 - rate * numbers.weight_decay)
        first = 1 - numbers.beta1 ** (taken + 1)
        second = 1 - numbers.beta2 ** (taken + 1)
        root_N = torch.sqrt(v_N, out=gradient_N).div_(math.sqrt(second)).add_(numbers.epsilon)
        self._parameters.values_N.addcdiv_(m_N, root_N, value=-rate / first)
