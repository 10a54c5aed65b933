"""LAMB in the two ways that are in use; both clamp the norm of a parameter, and let biases and layer norms not decay.

They differ in where the moments' bias towards zero is removed.  You et al. (2019, algorithm 2) do it *inside* the trust
ratio, where it nearly cancels out: the first step is as long as any other.  `torch_optimizer.Lamb`, with which
sahajBERT was trained (S000, section 4.2), multiplies the rate by sqrt(1 - beta2^t) / (1 - beta1^t) *outside* of it, so
that early steps are shorter: 0.32 of the length at first, 0.15 after ten steps, 0.8 after a thousand.
"""

# ruff: noqa: N803, N806 - names of arrays end in their shapes

import math
from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
from msgspec import Meta

from core.base.schedule import learning_rate
from core.training.optimizers.exact import Norm, blocks, on_cpu
from core.training.optimizers.moments import MomentNumbers, MomentOptimizer
from core.training.optimizers.optimizer import Epsilon, OptimizerNumbers, WeightDecay


class LambNumbers(MomentNumbers, frozen=True, kw_only=True):
    """What a manifest says about LAMB."""

    epsilon: Epsilon = 1e-6
    weight_decay: WeightDecay = 0.01
    clamp: Annotated[float, Meta(gt=0, le=1e12)] = 10_000.0
    """The norm of a parameter counts as at most this."""
    debias: Literal["inside", "outside"] = "inside"
    """Where the moments' bias is removed: as in the paper, or as sahajBERT did."""


class Lamb(MomentOptimizer):
    """Has two moments, `m` and `v`."""

    Numbers: ClassVar[type[OptimizerNumbers]] = LambNumbers
    exact: ClassVar[bool] = True
    numbers: LambNumbers

    def step(self, gradient_N: torch.Tensor, *, taken: int, epoch: int) -> None:
        """Move each parameter by a step of the length of the parameter itself, times the learning rate.

        Args:
            gradient_N: The mean gradient; it is overwritten.
            taken: Steps that the moments have taken before.
            epoch: Steps that the collaboration has taken before.
        """
        numbers, update_N = self.numbers, gradient_N.numpy()
        rate, bias = learning_rate(numbers, epoch), self._moments.bias(taken)
        if numbers.debias == "outside":
            rate, bias = rate * math.sqrt(bias[1]) / bias[0], (1.0, 1.0)
        value_norm, update_norm = Norm(), Norm()
        with on_cpu(self._parameters) as values_N:
            clip = self.clipping.factor(update_N, taken=taken)
            for span in self._parameters.spans:
                for block in blocks(span.start, span.stop):
                    value_n, update_n = values_N[block], update_N[block]
                    self._moments.update(block, update_n, clip=clip, bias=bias)
                    if span.decays:
                        update_n += value_n * np.float32(numbers.weight_decay)
                    value_norm.add(value_n)
                    update_norm.add(update_n)
                ratio = _trust(min(value_norm.take(), numbers.clamp), update_norm.take())
                for block in blocks(span.start, span.stop):
                    update_N[block] *= np.float32(rate * ratio)
                    values_N[block] -= update_N[block]


def _trust(value_norm: float, update_norm: float) -> float:
    """How far a parameter may go: its own norm, in units of the update's."""
    ratio = value_norm / update_norm if value_norm and update_norm else 1.0
    return ratio if math.isfinite(ratio) else 1.0
