"""The moments of Adam (Kingma and Ba 2015, algorithm 1), from which LAMB and AdamW make their updates."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from core.training.optimizers.blockwise import EightBits
from core.training.optimizers.clipping import Clipping
from core.training.optimizers.exact import Vector, power
from core.training.optimizers.optimizer import Decay, Epsilon, OptimizerNumbers
from core.training.optimizers.storage import NOT_NEGATIVE, Bounds, Full, Storage, running_mean
from core.training.vectors.flat import FlatParameters, Span


class MomentNumbers(OptimizerNumbers, frozen=True, kw_only=True):
    """What a manifest says about moments."""

    beta1: Decay = 0.9
    """The share of `m` that one step keeps."""
    beta2: Decay = 0.999
    """The share of `v` that one step keeps."""
    epsilon: Epsilon = 1e-8
    """Added to the root of `v`."""
    bits: Literal[8, 32] = 32
    """Bits of each number of `m` and `v` (`core.training.optimizers.blockwise`)."""


class Moments:
    """Owns `m` and `v`, running means of the gradient and of its square.

    Args:
        numbers: From the manifest.
        spans: The parameters that they belong to, in the order of the flat vector.
    """

    def __init__(self, numbers: MomentNumbers, spans: Sequence[Span]) -> None:
        self._betas = (numbers.beta1, numbers.beta2)
        self._epsilon = numbers.epsilon
        eight = numbers.bits == 8
        self._m: Storage = EightBits("m", spans, signed=True) if eight else Full("m", spans)
        self._v: Storage = EightBits("v", spans, signed=False) if eight else Full("v", spans)
        self.state = {**self._m.tensors, **self._v.tensors}
        mean = running_mean(numbers.max_grad_norm)
        self.bounds: Bounds = {**self._m.bounds(mean), **self._v.bounds(NOT_NEGATIVE)}

    def bias(self, taken: int) -> tuple[float, float]:
        """What `m` and `v` have to be divided by in the next step, since both begin at zero.

        Args:
            taken: Steps that the moments have taken before.
        """
        beta1, beta2 = self._betas
        return 1 - power(beta1, taken + 1), 1 - power(beta2, taken + 1)

    def update(self, block: slice, gradient_n: Vector, *, clip: float, bias: tuple[float, float] = (1.0, 1.0)) -> None:
        """Turn the gradient of one block into its update, the first moment over the root of the second.

        The bias of both towards zero is removed: m / first / (sqrt(v / second) + epsilon), in fewer operations.

        Args:
            block: Where the block lies in the vector.
            gradient_n: Is overwritten by the update.
            clip: The gradient's factor.
            bias: Bias of both moments; ones leave it where it is.
        """
        (beta1, beta2), (first, second) = self._betas, bias
        m_n, v_n = self._m.read(block), self._v.read(block)
        gradient_n *= np.float32(clip)
        m_n += (gradient_n - m_n) * np.float32(1 - beta1)
        v_n *= np.float32(beta2)
        v_n += gradient_n * gradient_n * np.float32(1 - beta2)
        root_n = np.sqrt(v_n) * np.float32(first / math.sqrt(second)) + np.float32(first * self._epsilon)
        np.divide(m_n, root_n, out=gradient_n)
        self._m.write(block, m_n)
        self._v.write(block, v_n)


class MomentOptimizer:
    """An optimiser whose state is two moments, `m` and `v`, of all numbers.

    Args:
        numbers: From the manifest.
        parameters: What it moves.
    """

    def __init__(self, numbers: MomentNumbers, parameters: FlatParameters) -> None:
        self.numbers = numbers
        self._parameters = parameters
        self._moments = Moments(numbers, parameters.spans)
        self.clipping = Clipping(numbers.max_grad_norm, deviations=numbers.spike_guard)
        self.state = {**self._moments.state, **self.clipping.state}
        self.bounds = {**self._moments.bounds, **self.clipping.bounds}
