"""What every rule can do: a rule says what a peer contributes to a round, and what it makes of the mean."""

# ruff: noqa: N803 - names of arrays end in their shapes

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Annotated, ClassVar, Protocol

import msgspec
import torch
from msgspec import Meta

from core.base.problems import WorkerProblem
from core.training.optimizers import Optimizer
from core.training.rules.sums import GradientSum
from core.training.vectors.flat import FlatParameters
from core.training.vectors.noise_scale import SquaredNorm


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
