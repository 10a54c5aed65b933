"""One forward and backward pass: from a batch to the gradient that it leaves in the parameters."""

import math
from functools import partial

import torch
from torch.utils.checkpoint import checkpoint

from core.tasks.task import Batch, Task
from core.training.flat import FlatParameters
from core.training.loss_scale import LossScale
from core.training.precision import Precision


class Passes:
    """Computes in the precision of the collaboration, as this machine can.

    Args:
        task: Has the loss, and names the layers.
        model: Whose parameters get the gradient.
        parameters: The same, as vectors.
        precision: Of forward pass and loss.
    """

    def __init__(self, task: Task, model: torch.nn.Module, parameters: FlatParameters, precision: Precision) -> None:
        self._task = task
        self._model = model
        self._parameters = parameters
        self.precision = precision
        """What forward pass and loss compute in here."""
        self.scale = LossScale() if precision.half is torch.float16 else None
        """None: gradients are as they are."""
        self._recomputing = False

    def run(self, batch: Batch) -> float:
        """Add the gradient of a batch's mean loss to the parameters' gradients, which are zeros before.

        Where fp16 overflows by the scale, the same batch is computed again with half of it: none is lost.

        Returns:
            The loss that people are shown; like the gradient it may be not finite.
        """
        if self.scale is None:
            return self._once(batch, 1.0)
        first = self.scale.value
        while True:
            loss = self._once(batch, self.scale.value)
            if bool(torch.isfinite(self._parameters.gradients_N.sum(dtype=torch.float64)).item()):
                self.scale.fits()
                return loss
            if not self.scale.can_fall or not math.isfinite(loss):
                self.scale.value = first  # it was not the scale's fault
                return loss
            self.scale.overflowed()
            self._parameters.gradients_N.zero_()

    def recompute(self) -> None:
        """From now on keep only what goes into each layer, and compute the rest again in the backward pass.

        The gradient is the same; a pass takes a third longer, and a small part of the memory.
        """
        if not self._recomputing:
            for layer in self._task.layers(self._model):
                again = partial(checkpoint, layer.forward, use_reentrant=False)
                layer.forward = again
            self._recomputing = True

    def _once(self, batch: Batch, scale: float) -> float:
        with self.precision.computing(self._parameters.values_N.device):
            losses = self._task.loss(self._model, batch)
        (losses.objective * scale if scale != 1.0 else losses.objective).backward()  # type: ignore[no-untyped-call]
        if scale != 1.0:
            self._parameters.gradients_N.mul_(1 / scale)
        return float(losses.reported.item())
