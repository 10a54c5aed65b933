"""Gradients every step: the mean over all peers' samples is worth one step of the optimiser (S000, section 3.1)."""

# ruff: noqa: N803 - names of arrays end in their shapes

from contextlib import AbstractContextManager, nullcontext
from typing import ClassVar

import torch

from core.training.optimizers import Optimizer
from core.training.rules.rule import GradientSum, RuleNumbers, refuse_infinite
from core.training.vectors.flat import FlatParameters
from core.training.vectors.noise_scale import SquaredNorm


class Gradients:
    """Contributes the mean gradient.

    With delayed parameter updates (S000, section 3.2) the contribution to a round is *set aside*, and gradients that
    come while it is averaged are added up beside it, for the step after; an aborted round gives it back.
    """

    Numbers: ClassVar[type[RuleNumbers]] = RuleNumbers

    def __init__(
        self,
        numbers: RuleNumbers,  # noqa: ARG002 - there are none but the name
        parameters: FlatParameters,
        optimizer: Optimizer,
        *,
        overlaps: bool,
    ) -> None:
        self._parameters = parameters
        self._optimizer = optimizer
        self._overlaps = overlaps
        self.batch_max: int | None = None
        """Gradients add up, whatever the batches."""
        self.epoch = 0
        """Steps that the collaboration has taken to where the parameters stand."""
        self._sum = GradientSum(torch.zeros_like(parameters.values_N))
        self._sums = [self._sum]
        """All of them, on one device; the second one is made when it is first needed."""
        self._aside: GradientSum | None = None

    @property
    def samples(self) -> int:
        """Samples added and not absorbed yet, those that are set aside included."""
        return self._sum.samples + (self._aside.samples if self._aside is not None else 0)

    @property
    def ahead(self) -> int:
        """Those of them that came after what is set aside; 0 when nothing is."""
        return self._sum.samples if self._aside is not None else 0

    @property
    def loss(self) -> float:
        """Mean loss of all these samples; 0 while there are none."""
        loss = self._sum.loss + (self._aside.loss if self._aside is not None else 0.0)
        return loss / self.samples if self.samples else 0.0

    @property
    def single(self) -> SquaredNorm | None:
        """What the batches' gradients were like, of those that are set aside if any are."""
        return (self._aside or self._sum).single

    @property
    def dropped(self) -> int:
        """Batches whose gradient was not finite, since the start."""
        return sum(kept.dropped for kept in self._sums)

    @property
    def vectors(self) -> list[torch.Tensor]:
        """The sums of gradients, with that of a contribution that is out or was."""
        return [kept.gradients_N for kept in self._sums]

    def begin(self, epoch: int) -> None:
        """Forget everything that was added, what is set aside included."""
        self.take_back()
        self._sum.clear()
        self._parameters.gradients_N.zero_()
        self.epoch = epoch

    def add(self, *, samples: int, loss: float) -> bool:
        """Add one batch's gradient; returns whether it was finite, so that it counted."""
        return self._sum.add(self._parameters.gradients_N, samples=samples, loss=loss)

    def take(self, other: GradientSum) -> None:
        """Add what another device has added up."""
        self._sum.take(other)

    def hand_over(self) -> torch.Tensor:
        """The mean gradient over all samples, shape (N,); where rounds overlap, they are set aside."""
        if self._overlaps:
            self.take_back()
            if len(self._sums) == 1:
                self._sums.append(GradientSum(torch.zeros_like(self._sum.gradients_N)))
            self._aside = self._sum
            self._sum = next(kept for kept in self._sums if kept is not self._aside)
        return (self._aside or self._sum).mean().cpu()

    def take_back(self) -> None:
        """What was set aside, if anything was, counts with what came meanwhile."""
        if self._aside is not None:
            self._aside.take(self._sum)
            self._sum, self._aside = self._aside, None

    def absorb(self, mean_N: torch.Tensor) -> None:
        """Take one step with the mean gradient over all samples of the round.

        What was set aside is in the mean, and forgotten; what came meanwhile is kept for the next step.  When nothing
        was set aside, all is forgotten.

        Raises:
            WorkerProblem: the mean is not finite; nothing has changed.
        """
        refuse_infinite(mean_N)
        self._optimizer.step(mean_N, taken=self.epoch, epoch=self.epoch)
        if self._aside is None:
            self.begin(self.epoch + 1)
        else:
            self._aside.clear()
            self._aside = None
            self.epoch += 1

    def shared(self) -> AbstractContextManager[None]:
        """Nothing to do: parameters change in `absorb` only."""
        return nullcontext()
