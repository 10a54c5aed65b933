"""What every optimiser can do, and the numbers that all of them share."""

# ruff: noqa: N803 - names of arrays end in their shapes

from collections.abc import Mapping
from typing import Annotated, ClassVar, Protocol

import torch
from msgspec import Meta

from core.base.schedule import ScheduleNumbers
from core.training.optimizers.clipping import Clipping
from core.training.optimizers.storage import Bounds
from core.training.vectors.flat import FlatParameters

Decay = Annotated[float, Meta(ge=0, lt=1)]
"""The share of a running mean that one step keeps."""
Epsilon = Annotated[float, Meta(gt=0, le=1)]
WeightDecay = Annotated[float, Meta(ge=0, le=100)]


class OptimizerNumbers(ScheduleNumbers, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The numbers of every optimiser."""

    name: Annotated[str, Meta(max_length=80)]
    max_grad_norm: Annotated[float, Meta(gt=0, le=1e12)] = 1.0
    """A gradient of a larger norm is scaled down to it."""
    spike_guard: Annotated[float, Meta(ge=0, le=1000)] = 0.0
    """Standard deviations of the last norms by which a gradient's norm may exceed the usual one; a longer gradient is
    scaled down to that (`core.training.optimizers.clipping`).  0: no limit."""


class Optimizer(Protocol):
    """Changes parameters by a gradient, and remembers what it needs for the next step.

    Args:
        numbers: Its `Numbers`, from a manifest.
        parameters: What it changes.
    """

    Numbers: ClassVar[type[OptimizerNumbers]]
    exact: ClassVar[bool]
    """Whether equal states and gradients give equal bits on every machine (`core.training.optimizers.exact`)."""

    @property
    def numbers(self) -> OptimizerNumbers:
        """Those that it was made with."""

    clipping: Clipping
    """Scales its gradients down."""

    def __init__(self, numbers: OptimizerNumbers, parameters: FlatParameters) -> None: ...

    @property
    def state(self) -> Mapping[str, torch.Tensor]:
        """What it remembers, always the same tensors, on the CPU, by the names that they have in a checkpoint.

        A tensor of shape (N,) is kept parameter by parameter, any other as a whole; a name holds no slash.
        """

    @property
    def bounds(self) -> Bounds:
        """What steps can lead to; a tensor that is not named holds any finite number.

        A state comes from a stranger.  Beyond these bounds it is refused, for steps from there may lead to no numbers.
        """

    def step(self, gradient_N: torch.Tensor, *, taken: int, epoch: int) -> None:
        """Change the parameters once.

        Args:
            gradient_N: Finite, float32, on the CPU, wherever the parameters are; it may be overwritten.
            taken: Steps that this state has taken before.
            epoch: Steps that the collaboration has taken before, for the schedule.
        """
