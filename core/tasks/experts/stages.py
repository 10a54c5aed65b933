"""A model cut at its layers of experts: what a trainer computes itself, between the answers of others."""

# ruff: noqa: N803 - names of arrays end in their shapes

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import nn

from core.tasks.task import Batch, Evaluation, Losses, Task


class Stages(Protocol):
    """What stands between the layers of experts, as functions of what goes in and of the model's parameters.

        first -> gate ~~> after -> gate ~~> after ... -> last        ~~>: experts answer, and answers are mixed

    Each is computed a second time for the backward pass, and must then give the same.
    """

    def first(self, batch: Any) -> torch.Tensor:
        """What goes into the first layer of experts, R samples in the first dimension."""

    def gate(self, layer: int, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The rows that experts of a layer get, shape (R, W), and the gate's scores (R, G)."""

    def after(self, layer: int, x: torch.Tensor, mixed_RW: torch.Tensor) -> torch.Tensor:
        """What goes into the next layer.

        Args:
            layer: Number of the layer of experts.
            x: What has gone into it.
            mixed_RW: The experts' answers as one.
        """

    def last(self, x: torch.Tensor, batch: Any) -> Losses:
        """The losses of what comes out of the last layer."""


class MixtureTask(Task, Protocol):
    """A task whose model has layers of experts.

    `loss` and `evaluate` are those of the trunk alone, as if all experts answered zeros.
    """

    def stages(self, model: nn.Module) -> Stages:
        """The stages of a model, which share its parameters."""

    @property
    def held_out(self) -> Sequence[Batch]:
        """What nobody learns from, in batches."""

    def measured(self, model: nn.Module, found: Sequence[torch.Tensor]) -> Evaluation:
        """How well a model does.

        Args:
            model: It has the last stage.
            found: For each batch of `held_out` what comes out of the last layer of experts.
        """
