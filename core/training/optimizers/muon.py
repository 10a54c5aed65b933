"""Muon (Jordan et al. 2024): a matrix moves equally far in all directions that its momentum has.

It is meant for the matrices within a network.  Embeddings, heads, biases and norms take AdamW's step.
"""

# ruff: noqa: N803, N806 - names of arrays end in their shapes

import math
from typing import Annotated, ClassVar, Final

import numpy as np
import torch
from msgspec import Meta

from core.base.schedule import learning_rate
from core.training.optimizers.clipping import Clipping
from core.training.optimizers.exact import Vector, blocks, on_cpu
from core.training.optimizers.moments import MomentNumbers, Moments
from core.training.optimizers.optimizer import Decay, OptimizerNumbers, WeightDecay
from core.training.optimizers.storage import Bounds, Full, running_mean
from core.training.vectors.flat import FlatParameters, Span

COEFFICIENTS: Final = (3.4445, -4.7750, 2.0315)
"""Coefficients of x, x^3 and x^5: five times over they bring every x from 0.01 to 1 near 1, fast rather than close."""
ITERATIONS: Final = 5
NORM_MIN: Final = 1e-7


class MuonNumbers(MomentNumbers, frozen=True, kw_only=True):
    """What a manifest says about Muon; `beta1`, `beta2`, `epsilon` and `bits` are those of AdamW."""

    momentum: Decay = 0.95
    weight_decay: WeightDecay = 0.0
    """Matrices decay, also those of AdamW; biases and layer norms do not."""
    adamw: Annotated[str, Meta(max_length=1000)] = "embed,head,decoder,classifier,letters,places"
    """Matrices with one of these words, parted by commas, in their names take AdamW's step, too."""
    adamw_rate: Annotated[float, Meta(gt=0, le=100)] = 0.015
    """AdamW's learning rate, in units of Muon's."""


class Muon:
    """Has a `momentum` for matrices, and the moments `m` and `v` for all else.

    Its matrix products are those of the device's library: states of computers of different kinds drift apart by their
    roundings, and nothing brings them together again.  As the optimiser of local steps that does no harm: their state
    is each peer's own, and the collaboration's step is the outer optimiser's.
    """

    Numbers: ClassVar[type[OptimizerNumbers]] = MuonNumbers
    exact: ClassVar[bool] = False

    def __init__(self, numbers: MuonNumbers, parameters: FlatParameters) -> None:
        self.numbers = numbers
        self._parameters = parameters
        words = [word.strip() for word in numbers.adamw.split(",") if word.strip()]
        inner = [span for span in parameters.spans if span.decays and not any(word in span.name for word in words)]
        self._inner = frozenset(inner)
        self.clipping = Clipping(numbers.max_grad_norm, deviations=numbers.spike_guard)
        self._momentum = Full("momentum", inner)
        self._moments = Moments(numbers, [span for span in parameters.spans if span not in self._inner])
        self.state = {**self._momentum.tensors, **self._moments.state, **self.clipping.state}
        mean = running_mean(numbers.max_grad_norm)
        self.bounds: Bounds = {**self._momentum.bounds(mean), **self._moments.bounds, **self.clipping.bounds}

    def step(self, gradient_N: torch.Tensor, *, taken: int, epoch: int) -> None:
        """Move each matrix by the learning rate in every direction that its gradients have; all else as AdamW does.

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
                inner = span in self._inner
                for block in blocks(span.start, span.stop):
                    if inner:
                        self._gather(block, update_N[block], clip=clip)
                    else:
                        self._moments.update(block, update_N[block], clip=clip, bias=bias)
                length = self._straighten(span, gradient_N) if inner else numbers.adamw_rate
                values_n, update_n = values_N[span.start : span.stop], update_N[span.start : span.stop]
                if span.decays:
                    values_n *= np.float32(1 - rate * (1.0 if inner else numbers.adamw_rate) * numbers.weight_decay)
                update_n *= np.float32(rate * length)
                values_n -= update_n

    def _gather(self, block: slice, gradient_n: Vector, *, clip: float) -> None:
        """Turn the gradient of one block into Nesterov's momentum."""
        keeps, momentum_n = np.float32(self.numbers.momentum), self._momentum.read(block)
        gradient_n *= np.float32(clip)
        momentum_n += (gradient_n - momentum_n) * np.float32(1 - self.numbers.momentum)
        gradient_n += (momentum_n - gradient_n) * keeps
        self._momentum.write(block, momentum_n)

    def _straighten(self, span: Span, update_N: torch.Tensor) -> float:
        """Make a matrix's update orthogonal, where the model lies; returns its length, which grows with its height."""
        matrix = span.of(update_N).flatten(1)
        matrix.copy_(orthogonal(matrix.to(self._parameters.values_N.device)))
        return math.sqrt(max(1.0, matrix.shape[0] / matrix.shape[1]))


def orthogonal(matrix: torch.Tensor) -> torch.Tensor:
    """A matrix of the same singular vectors, with all singular values near 1, by Newton and Schulz' iteration."""
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix
    x = x / x.norm().clamp(min=NORM_MIN)
    first, third, fifth = COEFFICIENTS
    for _ in range(ITERATIONS):
        square = x @ x.T
        x = first * x + (third * square + fifth * square @ square) @ x
    result: torch.Tensor = x.T if tall else x
    return result
