"""One forward and backward pass: from a batch to the gradient that it leaves in the parameters."""

# ruff: noqa: N806 - names of arrays end in their shapes

import math
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import torch
from torch.utils.checkpoint import checkpoint

from core.tasks.task import Batch, Task
from core.training.devices.micro_batch import lacked_memory
from core.training.devices.precision import ROUNDINGS, LossScale, Precision
from core.training.vectors.flat import FlatParameters

COMPILED_TOLERANCE: Final = 1e-4
"""Upper bound on how far a gradient of compiled layers may be from the others', in parts of its norm; the precision's
own roundings are allowed in any case."""
COMPILED_BYTES_MAX: Final = 512 * 1024 * 1024
"""Upper bound on the folder of compiled layers; one of a layer of ALBERT takes 2 MB."""


class Backprop:
    """Computes in the precision of the collaboration, as this machine can.

    Args:
        task: Has the loss, and names the layers.
        model: Whose parameters get the gradient.
        parameters: The same, as vectors.
        precision: Precision of forward pass and loss.
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
        self._compiler: str | Callable[..., Any] | None = None
        """With which layers are compiled at the next pass."""
        self._plain: list[Callable[..., Any]] = []
        """What compiled layers were before."""

    def run(self, batch: Batch) -> float:
        """Add the gradient of a batch's mean loss to the parameters' gradients, which are zeros before.

        Where fp16 overflows by the scale, the same batch is computed again with half of it: none is lost.

        Returns:
            The loss that people are shown; like the gradient it may be not finite.
        """
        if self._compiler is not None and not self._recomputing:
            compiler, self._compiler = self._compiler, None
            return self._compiled(batch, compiler)
        try:
            return self._scaled(batch)
        except Exception as error:
            if not self._plain or lacked_memory(error):
                raise
            self._go_back(_first_line(error))
            self._parameters.gradients_N.zero_()
            return self._scaled(batch)

    def recompute(self) -> None:
        """From now on keep only what goes into each layer, and compute the rest again in the backward pass.

        The gradient is the same; a pass takes a third longer, and a small part of the memory.
        """
        if not self._recomputing:
            if self._plain:
                self._go_back("memory does not suffice")
            for layer in self._task.layers(self._model):
                again = partial(checkpoint, layer.forward, use_reentrant=False)
                layer.forward = again
            self._recomputing = True

    def compile(self, compiler: str | Callable[..., Any] = "inductor") -> None:
        """Have the layers compiled at the next pass, which stands still meanwhile: a quarter of a minute and more.

        The gradient of that pass is computed both ways.  Where they differ, or where the compiler fails, then or later,
        layers stay as they are, and the log says why.

        Args:
            compiler: A backend of `torch.compile`.
        """
        self._compiler = compiler

    @contextmanager
    def uncompiled(self) -> Iterator[None]:
        """While this is entered, layers are as they were: what is not training is not compiled for."""
        layers = self._task.layers(self._model) if self._plain else []
        compiled = [layer.forward for layer in layers]
        for layer, plain in zip(layers, self._plain, strict=True):
            layer.forward = plain
        try:
            yield
        finally:
            for layer, each in zip(layers, compiled, strict=True):
                layer.forward = each

    def _compiled(self, batch: Batch, compiler: str | Callable[..., Any]) -> float:
        layers, gradients_N = self._task.layers(self._model), self._parameters.gradients_N
        loss = self._scaled(batch)
        plain_N = gradients_N.clone()
        gradients_N.zero_()
        self._plain = [layer.forward for layer in layers]
        try:
            for layer in layers:
                layer.forward = torch.compile(layer.forward, backend=compiler)
        except Exception as error:  # noqa: BLE001 - whatever it is, one can do without
            self._go_back(_first_line(error))
        self.run(batch)
        tolerance = max(COMPILED_TOLERANCE, 2 * ROUNDINGS * self.precision.rounding)
        if self._plain and not (gradients_N - plain_N).norm() <= tolerance * plain_N.norm():
            self._go_back("the gradient is another one")
        gradients_N.copy_(plain_N)
        return loss

    def _go_back(self, why: str) -> None:
        for layer, plain in zip(self._task.layers(self._model), self._plain, strict=True):
            layer.forward = plain
        self._plain = []
        sys.stderr.write(f"Compiled layers cannot be used ({why}): training goes on without them.\n")

    def _scaled(self, batch: Batch) -> float:
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

    def _once(self, batch: Batch, scale: float) -> float:
        with self.precision.computing(self._parameters.values_N.device):
            losses = self._task.loss(self._model, batch)
        (losses.objective * scale).backward()  # type: ignore[no-untyped-call]
        if scale != 1.0:
            self._parameters.gradients_N.mul_(1 / scale)
        return float(losses.reported.item())


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]


def keep_compiled(folder: Path) -> None:
    """Have what is compiled kept in a folder, for the next start; one that has grown too large begins anew.

    Args:
        folder: Nobody else writes in it.
    """
    found = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if found > COMPILED_BYTES_MAX:
        shutil.rmtree(folder, ignore_errors=True)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder)
