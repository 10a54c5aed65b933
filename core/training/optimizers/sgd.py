"""Stochastic gradient descent with Nesterov's momentum (Sutskever et al. 2013).

The outer optimiser of local steps (`core.training.rules.local`), and the plainest one for anything else.
"""

# ruff: noqa: N803, N806 - names of arrays end in their shapes

from typing import ClassVar

import numpy as np
import torch

from core.base.schedule import learning_rate
from core.training.flat import FlatParameters
from core.training.optimizers.exact import blocks, clipping, on_cpu
from core.training.optimizers.optimizer import Decay, OptimizerNumbers


class SgdNumbers(OptimizerNumbers, frozen=True, kw_only=True):
    """What a manifest says about SGD."""

    momentum: Decay = 0.9
    """0: none."""


class Sgd:
    """Owns the `momentum`, a vector of shape (N,): the sum of past gradients, each older one weighing less."""

    Numbers: ClassVar[type[OptimizerNumbers]] = SgdNumbers
    exact: ClassVar[bool] = True

    def __init__(self, numbers: SgdNumbers, parameters: FlatParameters) -> None:
        self._numbers = numbers
        self._parameters = parameters
        self.state = {"momentum": torch.zeros(parameters.numel)}

    def step(self, gradient_N: torch.Tensor, *, taken: int, epoch: int) -> None:  # noqa: ARG002 - a sum has no bias
        """Move against the gradient and the momentum after it.

        Args:
            gradient_N: The mean gradient; it is overwritten.
            taken: Does not matter here.
            epoch: Steps that the collaboration has taken before.
        """
        numbers = self._numbers
        gradient, momentum = gradient_N.numpy(), self.state["momentum"].numpy()
        with on_cpu(self._parameters) as values_N:
            clip = clipping(gradient, numbers.max_grad_norm)
            for block in blocks(0, gradient.size):
                gradient_n, momentum_n = gradient[block], momentum[block]
                gradient_n *= np.float32(clip)
                momentum_n *= np.float32(numbers.momentum)
                momentum_n += gradient_n
                gradient_n += momentum_n * np.float32(numbers.momentum)
                gradient_n *= np.float32(learning_rate(numbers, epoch))
                values_N[block] -= gradient_n
