"""Stochastic gradient descent with momentum: Nesterov's (Sutskever et al. 2013), or Polyak's; with or without LARC.

The outer optimiser of local steps (`core.training.rules.local`), the plainest one for anything else, and, with LARC
(You et al. 2017, "Large batch training of convolutional networks"), that of SwAV in S000, section 4.1.
"""

# ruff: noqa: N803, N806 - names of arrays end in their shapes

from typing import Annotated, ClassVar, Final

import numpy as np
import torch
from msgspec import Meta

from core.base.schedule import learning_rate
from core.training.optimizers.clipping import Clipping
from core.training.optimizers.exact import Norm, Vector, blocks, on_cpu
from core.training.optimizers.optimizer import Decay, OptimizerNumbers, WeightDecay
from core.training.optimizers.storage import Bounds
from core.training.vectors.flat import FlatParameters, Span

LARC_EPSILON: Final = 1e-8


class SgdNumbers(OptimizerNumbers, frozen=True, kw_only=True):
    """What a manifest says about SGD."""

    momentum: Decay = 0.9
    """0: none."""
    nesterov: bool = True
    """Whether the gradient is taken as if it came after the momentum's step."""
    weight_decay: WeightDecay = 0.0
    """Part of the gradient; biases and layer norms do not decay."""
    trust: Annotated[float, Meta(ge=0, le=1)] = 0.0
    """LARC: the share of its own norm by which each parameter moves at a rate of 1; 0 means no LARC."""


class Sgd:
    """Owns the `momentum`, a vector of shape (N,): the sum of past gradients, each older one weighing less."""

    Numbers: ClassVar[type[OptimizerNumbers]] = SgdNumbers
    exact: ClassVar[bool] = True

    def __init__(self, numbers: SgdNumbers, parameters: FlatParameters) -> None:
        self.numbers = numbers
        self._parameters = parameters
        self.clipping = Clipping(numbers.max_grad_norm, deviations=numbers.spike_guard)
        self.state = {"momentum": torch.zeros(parameters.numel), **self.clipping.state}
        self.bounds: Bounds = self.clipping.bounds

    def step(self, gradient_N: torch.Tensor, *, taken: int, epoch: int) -> None:
        """Move against the gradient, and the momentum with it.

        Args:
            gradient_N: The mean gradient; it is overwritten.
            taken: Steps that this state has taken before.
            epoch: Steps that the collaboration has taken before.
        """
        numbers, rate = self.numbers, np.float32(learning_rate(self.numbers, epoch))
        keeps, gradients_N, momenta_N = np.float32(numbers.momentum), gradient_N.numpy(), self.state["momentum"].numpy()
        with on_cpu(self._parameters) as values_N:
            clip = self.clipping.factor(gradients_N, taken=taken)
            for span in self._parameters.spans:
                decay = numbers.weight_decay if span.decays else 0.0
                ratio = self._larc(span, values_N, gradients_N, clip=clip, decay=decay) if numbers.trust else 1.0
                for block in blocks(span.start, span.stop):
                    gradient_n, momentum_n = gradients_N[block], momenta_N[block]
                    gradient_n *= np.float32(clip)
                    if decay:
                        gradient_n += values_N[block] * np.float32(decay)
                    if numbers.trust:
                        gradient_n *= np.float32(ratio)
                    momentum_n *= keeps
                    momentum_n += gradient_n
                    if numbers.nesterov:
                        gradient_n += momentum_n * keeps
                    else:
                        gradient_n[:] = momentum_n
                    gradient_n *= rate
                    values_N[block] -= gradient_n

    def _larc(self, span: Span, values_N: Vector, gradients_N: Vector, *, clip: float, decay: float) -> float:
        """The factor of one parameter's gradient and decay; a parameter without gradient stays where it is."""
        value, gradient = Norm(), Norm()
        for block in blocks(span.start, span.stop):
            value.add(values_N[block])
            gradient.add(gradients_N[block])
        value_norm, gradient_norm = value.take(), clip * gradient.take()
        if not value_norm or not gradient_norm:
            return 0.0 if value_norm else 1.0
        return self.numbers.trust * value_norm / (gradient_norm + decay * value_norm + LARC_EPSILON)
