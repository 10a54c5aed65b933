"""AdamW (Loshchilov and Hutter 2019, algorithm 2): Adam whose weight decay is not part of the gradient."""

# ruff: noqa: N803, N806 - names of arrays end in their shapes

from typing import ClassVar

import numpy as np
import torch

from core.base.schedule import learning_rate
from core.training.optimizers.exact import blocks, on_cpu
from core.training.optimizers.moments import MomentNumbers, MomentOptimizer
from core.training.optimizers.optimizer import OptimizerNumbers, WeightDecay


class AdamWNumbers(MomentNumbers, frozen=True, kw_only=True):
    """What a manifest says about AdamW."""

    weight_decay: WeightDecay = 0.01
    """Matrices decay; biases and layer norms do not."""


class AdamW(MomentOptimizer):
    """Has two moments, `m` and `v`."""

    Numbers: ClassVar[type[OptimizerNumbers]] = AdamWNumbers
    exact: ClassVar[bool] = True
    numbers: AdamWNumbers

    def step(self, gradient_N: torch.Tensor, *, taken: int, epoch: int) -> None:
        """Move each number by about the learning rate, against the sign of its mean gradient.

        Args:
            gradient_N: The mean gradient; it is overwritten.
            taken: Steps that the moments have taken before.
            epoch: Steps that the collaboration has taken before.
        """
        numbers, update_N = self.numbers, gradient_N.numpy()
        rate = learning_rate(numbers, epoch)
        with on_cpu(self._parameters) as values_N:
            clip, bias = self.clipping.factor(update_N, taken=taken), self._moments.bias(taken)
            for span in self._parameters.spans:
                for block in blocks(span.start, span.stop):
                    value_n, update_n = values_N[block], update_N[block]
                    self._moments.update(block, update_n, clip=clip, bias=bias)
                    update_n *= np.float32(rate)
                    if span.decays:
                        value_n *= np.float32(1 - rate * numbers.weight_decay)
                    value_n -= update_n
