"""The moments of Adam (Kingma and Ba 2015, algorithm 1), from which LAMB and AdamW make their updates."""

import math

import numpy as np
import torch

from core.training.optimizers.exact import Vector, power


class Moments:
    """Owns `m` and `v`, running means of the gradient and of its square, vectors of shape (N,).

    Args:
        numel: N.
        beta1: The share of `m` that one step keeps.
        beta2: The share of `v` that one step keeps.
        epsilon: Added to the root of `v`.
    """

    def __init__(self, numel: int, *, beta1: float, beta2: float, epsilon: float) -> None:
        self._betas = (beta1, beta2)
        self._epsilon = epsilon
        self.state = {name: torch.zeros(numel) for name in ("m", "v")}

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
            bias: Of both moments; ones leave it where it is.
        """
        (beta1, beta2), (first, second) = self._betas, bias
        m_n, v_n = (self.state[name].numpy()[block] for name in ("m", "v"))
        gradient_n *= np.float32(clip)
        m_n += (gradient_n - m_n) * np.float32(1 - beta1)
        v_n *= np.float32(beta2)
        v_n += gradient_n * gradient_n * np.float32(1 - beta2)
        root_n = np.sqrt(v_n) * np.float32(first / math.sqrt(second)) + np.float32(first * self._epsilon)
        np.divide(m_n, root_n, out=gradient_n)
