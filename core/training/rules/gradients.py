"""What a peer contributes to a round, and what it makes of the mean."""

# ruff: noqa: N802, N803, N806, N815 - names of arrays end in their shapes

import math
from dataclasses import dataclass

import torch

from core.base.problems import WorkerProblem
from core.training.flat import FlatParameters
from core.training.optimizers import Optimizer


@dataclass(slots=True)
class _Sum:
    """Gradients added up, each weighted by its samples."""

    gradients_N: torch.Tensor
    loss: float = 0.0
    samples: int = 0

    def take(self, other: "_Sum") -> None:
        """Take over what another has added up; nothing is left there."""
        self.gradients_N.add_(other.gradients_N)
        self.loss += other.loss
        self.samples += other.samples
        other.clear()

    def clear(self) -> None:
        self.gradients_N.zero_()
        self.loss, self.samples = 0.0, 0


class Gradients:
    """Gradients, accumulated sample by sample; the mean is worth one optimiser step (S000, 3.1).

    With delayed parameter updates (S000, 3.2) the contribution to a round is *set aside*, and the gradients that come
    while it is averaged are added up beside it, for the step after.  A round that comes to nothing gives it back.

    Args:
        parameters: Where the gradients of a batch are found.
        optimizer: Takes the step.
    """

    def __init__(self, parameters: FlatParameters, optimizer: Optimizer) -> None:
        self._parameters = parameters
        self._optimizer = optimizer
        self._sum = _Sum(torch.zeros_like(parameters.values_N))
        self._other: _Sum | None = None
        """The second one, on the same device; made when it is first needed."""
        self._aside: _Sum | None = None
        self.dropped = 0
        """Batches whose gradient was not finite; they never count."""

    @property
    def samples(self) -> int:
        """Samples accumulated and not averaged yet, those that are set aside included."""
        return self._sum.samples + (self._aside.samples if self._aside is not None else 0)

    @property
    def ahead(self) -> int:
        """Those of them that came after what is set aside; 0 when nothing is."""
        return self._sum.samples if self._aside is not None else 0

    @property
    def loss(self) -> float:
        """Mean loss of all these samples, nats; 0 while there are none."""
        loss = self._sum.loss + (self._aside.loss if self._aside is not None else 0.0)
        return loss / self.samples if self.samples else 0.0

    def add(self, *, samples: int, loss: float) -> bool:
        """Add the gradient of one batch, the mean over its samples, that backward has left; then clear it.

        Returns:
            Whether it counted: it does not when a number in it is not finite.
        """
        gradients_N = self._parameters.gradients_N
        finite = bool(torch.isfinite(gradients_N.sum(dtype=torch.float64)).item()) and math.isfinite(loss)
        if finite:
            self._sum.gradients_N.add_(gradients_N, alpha=samples)
            self._sum.loss += samples * loss
            self._sum.samples += samples
        else:
            self.dropped += 1
        gradients_N.zero_()
        return finite

    def contribution_N(self) -> torch.Tensor:
        """The mean gradient over what is set aside, or else over all accumulated samples; zeros when there are none.

        Float32 on the CPU.
        """
        whole = self._aside or self._sum
        return (whole.gradients_N / max(whole.samples, 1)).cpu()

    def set_aside(self) -> None:
        """What is accumulated is a round's contribution now; gradients from here on are for the step after it."""
        self.take_back()
        empty = self._other or _Sum(torch.zeros_like(self._sum.gradients_N))
        self._aside, self._sum, self._other = self._sum, empty, None

    def take_back(self) -> None:
        """The round came to nothing: what was set aside, if anything was, counts with what came meanwhile."""
        if self._aside is not None:
            self._aside.take(self._sum)
            self._sum, self._other, self._aside = self._aside, self._sum, None

    def absorb(self, mean_N: torch.Tensor, epoch: int) -> None:
        """Take one step with the collaboration's mean.

        What was set aside is in the mean, and forgotten; what came meanwhile is kept for the next step.  When nothing
        was set aside, all is forgotten.

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
        self._optimizer.step(mean_N.to(self._parameters.values_N.device), taken=epoch, epoch=epoch)
        if self._aside is None:
            self.clear()
        else:
            self._aside.clear()
            self._other, self._aside = self._aside, None

    def clear(self) -> None:
        """Forget all that was accumulated, what is set aside included."""
        self.take_back()
        self._sum.clear()
        self._parameters.gradients_N.zero_()
