"""What every rule can do, from the sums of gradients that it is made of to what it makes of a round's mean."""

# ruff: noqa: N803, N815 - names of arrays end in their shapes

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Annotated, ClassVar, Protocol

import msgspec
import torch
from msgspec import Meta

from core.base.problems import WorkerProblem
from core.training.optimizers import Optimizer
from core.training.vectors.flat import FlatParameters
from core.training.vectors.noise_scale import SquaredNorm


@dataclass(slots=True)
class GradientSum:
    """Gradients of batches, each weighted by the number of its samples; so is their loss."""

    gradients_N: torch.Tensor
    loss: float = 0.0
    samples: int = 0
    squares: float = 0.0
    """Squared norms of the batches' gradients, each weighted by the number of its samples."""
    batches: int = 0
    dropped: int = 0
    """Batches that did not count, since the start."""

    def add(self, gradients_N: torch.Tensor, *, samples: int, loss: float) -> bool:
        """Add the gradient of one batch, then clear it.

        Args:
            gradients_N: The mean over the batch's samples; zeros afterwards.
            samples: How many these are.
            loss: Their mean loss.

        Returns:
            Whether it counted: it does not when a number in it is not finite.
        """
        norm = torch.linalg.vector_norm(gradients_N, dtype=torch.float64).item()
        finite = math.isfinite(norm) and math.isfinite(loss)
        if finite:
            self.squares += samples * norm**2
            self.batches += 1
            self.gradients_N.add_(gradients_N, alpha=samples)
            self.loss += samples * loss
            self.samples += samples
        self.dropped += not finite
        gradients_N.zero_()
        return finite

    def mean(self) -> torch.Tensor:
        """The mean gradient over all samples, a new vector; zeros when there are none."""
        return self.gradients_N / max(self.samples, 1)

    @property
    def single(self) -> SquaredNorm | None:
        """What single batches' gradients were like; None where there was none."""
        return SquaredNorm(self.squares / self.samples, self.samples / self.batches) if self.samples else None

    def take(self, other: "GradientSum") -> None:
        """Take over what another has added up, on this device or another one; nothing is left there."""
        self.gradients_N.add_(other.gradients_N.to(self.gradients_N.device))
        self.loss += other.loss
        self.samples += other.samples
        self.squares += other.squares
        self.batches += other.batches
        self.dropped += other.dropped
        other.dropped = 0
        other.clear()

    def clear(self) -> None:
        """Start anew at zero gradients and no samples; what was dropped stays so."""
        self.gradients_N.zero_()
        self.loss, self.samples, self.squares, self.batches = 0.0, 0, 0.0, 0


class RuleNumbers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The manifest's numbers that every rule has; a rule with numbers of its own extends them."""

    name: Annotated[str, Meta(max_length=80)]


class Rule(Protocol):
    """Between two rounds gradients are added; a round takes the contribution, and ends with a mean or with nothing.

        begin -> add ... add -> hand_over -> absorb    the mean is the collaboration's step; all begins anew
                                          -> take_back the round was aborted; what was handed over counts again

    Args:
        numbers: Its `Numbers`, from a manifest.
        parameters: The model's, which stand at the shared state after `begin` and after `absorb`.
        optimizer: Takes one step with each mean.  Its state is part of the shared state; the rule's own memory is not.
        overlaps: Whether gradients are added between `hand_over` and its end (delayed parameter updates).

    Raises:
        BadInput: it cannot do that with these numbers, or not while a round is averaged.
    """

    Numbers: ClassVar[type[RuleNumbers]]
    epoch: int
    """Steps that the collaboration has taken to where the parameters stand."""
    batch_max: int | None
    """Samples of a batch at most, where more of them would be another rule; None: as many as fit."""

    def __init__(
        self, numbers: RuleNumbers, parameters: FlatParameters, optimizer: Optimizer, *, overlaps: bool
    ) -> None: ...

    @property
    def samples(self) -> int:
        """Samples added and not absorbed yet, those that were handed over included: the contribution's weight."""

    @property
    def ahead(self) -> int:
        """Those of them that came after the contribution that is out; 0 when none is out."""

    @property
    def loss(self) -> float:
        """Mean loss of all these samples, in the task's unit; 0 while there are none."""

    @property
    def single(self) -> SquaredNorm | None:
        """What the gradients of the contribution's batches were like; None: no batches, or not a gradient."""

    @property
    def dropped(self) -> int:
        """Batches whose gradient was not finite, since the start; they never count."""

    @property
    def vectors(self) -> Sequence[torch.Tensor]:
        """All that it remembers on the device of the parameters, which leaves that while training is suspended."""

    def begin(self, epoch: int) -> None:
        """Forget what was added: the parameters now stand at the shared state after `epoch` steps."""

    def add(self, *, samples: int, loss: float) -> bool:
        """Take the gradient of one batch that backward has left in the parameters, and clear it.

        Args:
            samples: Number of the batch's samples; the gradient is the mean over them.
            loss: The mean loss over them.

        Returns:
            Whether it counted: it does not when a number in it is not finite.
        """

    def take(self, other: GradientSum) -> None:
        """Add what another device has added up at the same parameters; nothing is left there.

        Raises:
            RuntimeError: that device cannot be read any more; nothing has changed here.
        """

    def hand_over(self) -> torch.Tensor:
        """What is added becomes the contribution to a round.

        Returns:
            A new vector of shape (N,), float32 on the CPU, which rounds average weighted by `samples`; zeros when there
            are none.
        """

    def take_back(self) -> None:
        """The round was aborted: what was handed over, if anything was, counts again with all that came meanwhile."""

    def absorb(self, mean_N: torch.Tensor) -> None:
        """Take the collaboration's step; equal states and equal means give equal bits.

        Args:
            mean_N: The weighted mean of the contributions; it may be overwritten.

        Raises:
            WorkerProblem: the mean is not finite; nothing has changed.
        """

    def shared(self) -> AbstractContextManager[None]:
        """While this is entered, the parameters stand at the shared state; nothing is added meanwhile."""


def refuse_infinite(mean_N: torch.Tensor) -> None:
    """Refuse a mean with which no step can be taken.

    Raises:
        WorkerProblem: a number in it is not finite.
    """
    if not torch.isfinite(mean_N).all().item():
        raise WorkerProblem(
            "The averaged contribution holds numbers that are not finite, so it was refused.",
            hint="The last saved state is untouched; training goes on from there.",
        )
