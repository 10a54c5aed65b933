"""LAMB (You et al. 2019, algorithm 2), with the numbers of S000, section 4.2.

Moments are freed from their bias towards zero, the norm of a parameter is clamped, biases and layer norms do not decay.
"""

# ruff: noqa: N803, N806 - names of arrays end in their shapes

import math
from typing import Annotated, ClassVar

import numpy as np
import torch
from msgspec import Meta

from core.base.schedule import learning_rate
from core.training.flat import FlatParameters
from core.training.optimizers.exact import Norm, blocks, clipping, on_cpu
from core.training.optimizers.moments import Moments
from core.training.optimizers.optimizer import Decay, Epsilon, OptimizerNumbers, WeightDecay


class LambNumbers(OptimizerNumbers, frozen=True, kw_only=True):
    """What a manifest says about LAMB."""

    beta1: Decay = 0.9
    beta2: Decay = 0.999
    epsilon: Epsilon = 1e-6
    weight_decay: WeightDecay = 0.01
    clamp: Annotated[float, Meta(gt=0, le=1e12)] = 10_000.0
    """The norm of a parameter counts as at most this."""


class Lamb:
    """Has two moments, `m` and `v`, vectors of shape (N,)."""

    Numbers: ClassVar[type[OptimizerNumbers]] = LambNumbers
    exact: ClassVar[bool] = True

    def __init__(self, numbers: LambNumbers, parameters: FlatParameters) -> None:
        self._numbers = numbers
        self._parameters = parameters
        self._moments = Moments(parameters.numel, beta1=numbers.beta1, beta2=numbers.beta2, epsilon=numbers.epsilon)
        self.state = self._moments.state

    def step(self, gradient_N: torch.Tensor, *, taken: int, epoch: int) -> None:
        """Move each parameter by a step of the length of the parameter itself, times the learning rate.

        Args:
            gradient_N: The mean gradient; it is overwritten.
            taken: Steps that the moments have taken before.
            epoch: Steps that the collaboration has taken before.
        """
        numbers, update_N = self._numbers, gradient_N.numpy()
        rate = learning_rate(numbers, epoch)
        value_norm, update_norm = Norm(), Norm()
        with on_cpu(self._parameters) as values_N:
            clip = clipping(update_N, numbers.max_grad_norm)
            for span in self._parameters.spans:
                for block in blocks(span.start, span.stop):
                    value_n, update_n = values_N[block], update_N[block]
                    self._moments.update(block, update_n, clip=clip, taken=taken)
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
