"""Whether a state that others gave is one that a trainer would load, and has learned anything.

A backbone asks before it gives a copy to newcomers (`core.backbone.copy_check`).
"""

from collections.abc import Callable
from pathlib import Path

import msgspec

from core.base.manifest import Manifest
from core.base.problems import Damaged, WireProblem
from core.base.state_header import HEADER_BYTES_MAX, header_of
from core.tasks.task import Task
from core.training.optimizers import optimizer_of
from core.training.states.checkpoint import Checkpoints
from core.training.vectors.flat import FlatParameters


class Checked(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="checked"):
    """What the check of one state has found."""

    fault: str
    """A sentence that says why nobody should go on from the state; empty: nothing speaks against it."""
    loss: float | None = None
    """Loss on the held-out text; None: the state cannot be loaded."""


def checked(path: Path, task: Task, manifest: Manifest, *, measured: Callable[[], None] = lambda: None) -> Checked:
    """Load a state as a trainer does, and compare its held-out loss with that of the model that everybody begins with.

    A state with a greater loss than that has learned less than nothing: a newcomer without a copy begins with a better
    model.  The bound contains no chosen number, and each task has held-out text.

    Args:
        path: The state's file, which is a stranger's.
        task: Task of the collaboration.
        manifest: Manifest of the collaboration.
        measured: Called when the model is measured with which everybody begins, before the stranger's file is read.
    """
    model = task.model(manifest.first_weights).eval()
    began = task.evaluate(model).score.loss
    measured()
    parameters = FlatParameters(model)
    optimizer = optimizer_of(manifest.optimizer, parameters)
    numbers_bytes = parameters.values_N.nbytes + sum(tensor.nbytes for tensor in optimizer.state.values())
    checkpoints = Checkpoints(
        path.parent, manifest=manifest.id, parameters=parameters, state=optimizer.state, bounds=optimizer.bounds
    )
    try:
        if path.stat().st_size > numbers_bytes + HEADER_BYTES_MAX:  # it may be too large to be read here
            return Checked(fault="It is larger than a state of this collaboration.")
        with path.open("rb") as file:
            header = header_of(file.read(HEADER_BYTES_MAX))
        checkpoints.load(path, wanted=(header.epoch, bytes.fromhex(header.lineage)))
    except (Damaged, WireProblem) as problem:
        return Checked(fault=problem.message)
    loss = task.evaluate(model).score.loss
    if loss <= began:
        return Checked(fault="", loss=loss)
    unit = f" {task.loss_unit}" if task.loss_unit else ""
    fault = f"Its {task.loss_name} on the held-out text is {loss:.4g}{unit}; everybody begins with {began:.4g}."
    return Checked(fault=fault, loss=loss)
