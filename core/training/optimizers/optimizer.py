"""What every optimiser can do, and the numbers that all of them share."""

# ruff: noqa: N803 - names of arrays end in their shapes

import math
from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, Protocol

import torch
from msgspec import Meta

from core.base.schedule import ScheduleNumbers
from core.training.flat import FlatParameters

Decay = Annotated[float, Meta(ge=0, lt=1)]
"""The share of a running mean that one step keeps."""
Epsilon = Annotated[float, Meta(gt=0, le=1)]
WeightDecay = Annotated[float, Meta(ge=0, le=100)]
Bounds = Mapping[str, tuple[float, float]]
"""Least and greatest number that a tensor of a state can hold, by the tensor's name."""
NOT_NEGATIVE: Final = (0.0, math.inf)


def running_mean(norm_max: float) -> tuple[float, float]:
    """The bounds of a running mean of gradients of at most this norm; twice as wide, for roundings."""
    return -2 * norm_max, 2 * norm_max


class OptimizerNumbers(ScheduleNumbers, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The numbers of every optimiser."""

    name: Annotated[str, Meta(max_length=80)]
    max_grad_norm: Annotated[float, Meta(gt=0, le=1e12)] = 1.0
    """A gradient of a larger norm is scaled down to it."""


class Optimizer(Protocol):
    """Changes parameters by a gradient, and remembers what it needs for the next step.

    Args:
        numbers: Its `Numbers`, from a manifest.
        parameters: What it changes.
    """

    Numbers: ClassVar[type[OptimizerNumbers]]
    exact: ClassVar[bool]
    """Whether equal states and gradients give equal bits on every machine (`core.training.optimizers.exact`)."""

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
