"""Stochastic gradient descent with Nesterov's momentum (Sutskever et al. 2013).

The outer optimiser of local steps (`core.training.rules.local`), and the plainest one for anything else.
"""

# ruff: noqa: N803, N806 - names of arrays end in their shapes

from typing import ClassVar

import torch

from core.training.flat import FlatParameters
from core.training.optimizers.optimizer import Decay, OptimizerNumbers, clip, learning_rate


class SgdNumbers(OptimizerNumbers, frozen=True, kw_only=True):
    """What a manifest says about SGD."""

    momentum: Decay = 0.9
    """0: none."""


class Sgd:
    """Owns the `momentum`, a vector of shape (N,): the sum of past gradients, each older one weighing less."""

    Numbers: ClassVar[type[OptimizerNumbers]] = SgdNumbers

    def __init__(self, numbers: SgdNumbers, parameters: FlatParameters) -> None:
        self._numbers = numbers
        self._parameters = parameters
        self.state = {"momentum": torch.zeros_like(parameters.values_N)}

    def step(self, gradient_N: torch.Tensor, *, taken: int, epoch: int) -> None:  # noqa: ARG002 - a sum has no bias
        """Move against the gradient and the momentum after it.

        Args:
            gradient_N: The mean gradient; it is overwritten.
            taken: Does not matter here.
            epoch: Steps that the collaboration has taken before.
        """
        numbers, momentum_N = self._numbers, self.state["momentum"]
        clip(gradient_N, numbers.max_grad_norm)
        momentum_N.mul_(numbers.momentum).add_(gradient_N)
        gradient_N.add_(momentum_N, alpha=numbers.momentum)
        self._parameters.values_N.add_(gradient_N, alpha=-learning_rate(numbers, epoch))
