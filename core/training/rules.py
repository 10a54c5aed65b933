"""What a peer contributes to a round, and what it makes of the mean."""

# ruff: noqa: N802, N803, N806 - names of arrays end in their shapes

import math

import torch

from core.base.problems import WorkerProblem
from core.training.flat import FlatParameters
from core.training.optimizers import Optimizer


class Gradients:
    """Gradients, accumulated sample by sample; the mean is worth one optimiser step (S000, 3.1).

    Args:
        parameters: Where the gradients of a batch are found.
        optimizer: Takes the step.
    """

    def __init__(self, parameters: FlatParameters, optimizer: Optimizer) -> None:
        self._parameters = parameters
        self._optimizer = optimizer
        self._sum_N = torch.zeros_like(parameters.values_N)
        self._loss_sum = 0.0
        self.samples = 0
        self.dropped = 0
        """Batches whose gradient was not finite; they never count."""

    @property
    def loss(self) -> float:
        """Mean loss of the accumulated samples, nats; 0 while there are none."""
        return self._loss_sum / self.samples if self.samples else 0.0

    def add(self, *, samples: int, loss: float) -> bool:
        """Add the gradient of one batch, the mean over its samples, that backward has left; then clear it.

        Returns:
            Whether it counted: it does not when a number in it is not finite.
        """
        gradients_N = self._parameters.gradients_N
        finite = bool(torch.isfinite(gradients_N.sum(dtype=torch.float64)).item()) and math.isfinite(loss)
        if finite:
            self._sum_N.add_(gradients_N, alpha=samples)
            self._loss_sum += samples * loss
            self.samples += samples
        else:
            self.dropped += 1
        gradients_N.zero_()
        return finite

    def contribution_N(self) -> torch.Tensor:
        """The mean gradient over all accumulated samples, float32 on the CPU; zeros when there are none."""
        return (self._sum_N / max(self.samples, 1)).cpu()

    def absorb(self, mean_N: torch.Tensor, epoch: int) -> None:
        """Take one step with the collaboration's mean and begin to accumulate anew.

        Args:
            mean_N: The mean gradient over all samples of the round; it may be changed.
            epoch: Steps taken before this one.

        Raises:
            WorkerProblem: the mean is not finite; nothing has changed.
        """
        if not torch.isfinite(mean_N).all().item():
            raise WorkerProblem(
                "The averaged gradient holds numbers that are not finite, so it was refused.",
                hint="The last saved state is untouched; training goes on from there.",
            )
        self._optimizer.step(mean_N.to(self._parameters.values_N.device), epoch)
        self.clear()

    def clear(self) -> None:
        """Forget what was accumulated."""
        self._sum_N.zero_()
        self._parameters.gradients_N.zero_()
        self._loss_sum, self.samples = 0.0, 0
