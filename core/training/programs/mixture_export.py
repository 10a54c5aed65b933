"""Writes a model with layers of experts as one folder: the trunk in a state, and the experts whose files are here."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, cast

import msgspec
import torch
from safetensors import safe_open

from core.base.manifest import Manifest
from core.base.problems import BadInput, Damaged, later
from core.experts.grid import ExpertGrid
from core.experts.hosting import Expert, named
from core.tasks.experts.blocks import new_expert
from core.tasks.experts.stages import MixtureTask
from core.tasks.experts.whole import WholeMixture, save_whole
from core.tasks.parameters import read_parameters
from core.tasks.task import Task
from core.training.experts.bank import read_expert
from core.training.programs.child import say
from core.workers.expert_files import expert_files

MISSING_NAMED: Final = 8
"""Number of missing experts that a refusal names."""


class MixtureExported(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="exported"):
    """What was written, and how good it is."""

    loss: float
    loss_name: str
    loss_unit: str
    baselines: dict[str, float]
    parameters: int
    """Numbers in trunk and experts."""
    experts: int
    """Number of experts that were written."""
    places: int
    """Number of those that the model has."""
    missing: list[str]
    """Those that were not, such as "1: 0-3"."""
    saved: list[int]
    """When each state was written or came here, Unix seconds, in their order."""


def exported(
    state: Path, task: Task, manifest: Manifest, *, experts: Path | None, out: Path, incomplete: bool
) -> MixtureExported:
    """Write the model, and measure what was written.

    Args:
        state: A state of the trunk.
        task: The collaboration's.
        manifest: Its manifest.
        experts: A folder of their files, or the file of a run without others.
        out: Where the model goes.
        incomplete: Whether it is written also where experts are missing.

    Raises:
        BadInput: some are missing, or a layer has no expert at all; nothing was measured or written.
    """
    trunk = read_parameters(state, task.model(0), called="The newest state").eval()
    numbers = manifest.mixture
    assert numbers is not None
    grid = ExpertGrid(numbers.grid, numbers.live)
    say("progress", text=later("Reading the experts"), fraction=0.2)
    found: dict[Expert, tuple[torch.nn.Module, int]] = {}
    if experts is not None and experts.is_dir():
        found = _of_files(experts, manifest)
    elif experts is not None and experts.exists():
        found = _of_run(experts, manifest)
    places = [(layer, grid.place(number)) for layer in range(numbers.layers) for number in range(numbers.live)]
    missing = [named(expert) for expert in places if expert not in found]
    if missing and not incomplete:
        raise _incomplete(missing, len(places))
    model = WholeMixture(trunk, numbers, {expert: block for expert, (block, _) in found.items()}).eval()
    say("progress", text=later("Measuring it on text that it never learns from"), fraction=0.4)
    mixture = cast("MixtureTask", task)
    stages = mixture.stages(trunk)
    with torch.no_grad():
        ends = [model.through(stages.first(batch)) for batch in mixture.held_out]
    evaluation = mixture.measured(trunk, ends)
    say("progress", text=later("Writing the files"), fraction=0.8)
    save_whole(model, out, manifest, letters=getattr(task, "vocabulary", ()))
    return MixtureExported(
        loss=evaluation.score.loss,
        loss_name=task.loss_name,
        loss_unit=task.loss_unit,
        baselines={name: score.loss for name, score in evaluation.baselines.items()},
        parameters=sum(tensor.numel() for tensor in model.state_dict().values()),
        experts=len(found),
        places=len(places),
        missing=missing,
        saved=sorted(at for _, at in found.values()),
    )


def _incomplete(missing: Sequence[str], places: int) -> BadInput:
    told = ", ".join(missing[:MISSING_NAMED])
    more = f" and {len(missing) - MISSING_NAMED} more" if len(missing) > MISSING_NAMED else ""
    message = "{count} of {places} experts are missing (layer: place): {named}{more}."
    hint = "Some may live nowhere yet: the more volunteers, the more live. To export without them, add --incomplete."
    return BadInput(message, len(missing), places, told, more, hint=hint)


def _of_files(folder: Path, manifest: Manifest) -> dict[Expert, tuple[torch.nn.Module, int]]:
    """The newest state of each expert that can be used: files may be strangers'."""
    numbers = manifest.mixture
    assert numbers is not None
    grid = ExpertGrid(numbers.grid, numbers.live)
    found = {}
    for expert, paths in expert_files(folder).items():
        if expert[0] >= numbers.layers or not grid.has(expert[1]):
            continue
        block = new_expert(numbers.block, width=numbers.width, factor=numbers.factor, seed=0)
        for path in reversed(paths):
            try:
                tensors, _ = read_expert(path, expert, block.state_dict(), numbers=numbers, run=manifest.id)
                saved = int(path.stat().st_mtime)
            except (Damaged, OSError):
                continue  # the one before it is next
            block.load_state_dict(tensors)
            found[expert] = block, saved
            break
    return found


def _of_run(path: Path, manifest: Manifest) -> dict[Expert, tuple[torch.nn.Module, int]]:
    """The experts of a run without others, as `core.training.flights.calls.LocalExperts` has kept them."""
    numbers = manifest.mixture
    assert numbers is not None
    grid = ExpertGrid(numbers.grid, numbers.live)
    found, saved = {}, int(path.stat().st_mtime)
    with safe_open(path, framework="pt") as file:
        for own in file.metadata():
            layer, number = map(int, own.split("."))
            block = new_expert(numbers.block, width=numbers.width, factor=numbers.factor, seed=0)
            block.load_state_dict({name: file.get_tensor(f"{own}.{name}") for name in block.state_dict()})
            found[layer, grid.place(number)] = block, saved
    return found
