"""A model's parameters in a safetensors file, named as in a state's: the tensor `parameters/P` for each parameter P.

With such a file a collaboration can begin: its manifest names it among the blobs as `START`.  All peers then start from
the same bits, because the numbers are copied and nothing is computed with them.
"""

from pathlib import Path
from typing import Final, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from core.base.problems import BadInput
from core.system.atomic_files import write_atomic
from core.tasks.task import Blobs

Model = TypeVar("Model", bound=torch.nn.Module)
START: Final = "start"
PREFIX: Final = "parameters/"
HEADER_BYTES_MAX: Final = 1024 * 1024
"""Upper bound on what stands in the file beside the numbers, bytes."""


def write_parameters(path: Path, model: torch.nn.Module) -> None:
    """Write a file that `read_parameters` reads.

    Raises:
        NoSpace: the disk is full.
    """
    found = {f"{PREFIX}{name}": parameter.detach().contiguous() for name, parameter in model.named_parameters()}
    write_atomic(path, save(found))


def read_parameters(path: Path, model: Model, *, called: str) -> Model:
    """The model, all its parameters replaced by those of a file.

    Memory: the file is mapped, so it takes no more than one parameter's numbers beside the model's own.

    Args:
        path: The file; other tensors in it are passed over.
        model: Model of float32 numbers, on the CPU.
        called: The file, for the sentence.

    Raises:
        BadInput: it cannot be read, or has other parameters than the model; some may have been replaced.
    """
    try:
        with safe_open(path, framework="pt") as file, torch.no_grad():
            expected = {f"{PREFIX}{name}": parameter for name, parameter in model.named_parameters()}
            if {key for key in file.keys() if key.startswith(PREFIX)} != set(expected):  # noqa: SIM118 - no mapping
                raise _other_model(called, "its parameters have other names")
            for key, parameter in expected.items():
                read = file.get_tensor(key)
                if read.shape != parameter.shape or read.dtype != parameter.dtype:
                    raise _other_model(called, f"{key} has the shape {tuple(read.shape)}, not {tuple(parameter.shape)}")
                if not torch.isfinite(read).all():
                    raise _other_model(called, f"{key} holds numbers that are not finite")
                parameter.copy_(read)
    except (SafetensorError, OSError, ValueError) as error:
        raise BadInput(
            "{called} cannot be read: {error}.", called, error, hint="Ask the organiser for a new one."
        ) from error
    return model


def begun(model: Model, blobs: Blobs | None) -> Model:
    """A new model, with the parameters that the manifest's collaboration begins with, if it names any.

    What the worst organiser gains: a sentence.  A file that is longer than this model's numbers is not read.

    Args:
        model: As it would begin without them, on the CPU.
        blobs: The manifest's; None: it names none.

    Raises:
        BadInput: the file is missing or damaged, or of another model.
    """
    if blobs is None or START not in blobs.digests:
        return model
    numbers_bytes = sum(parameter.nbytes for parameter in model.parameters())
    path = blobs.path(START, bytes_max=numbers_bytes + HEADER_BYTES_MAX)
    return read_parameters(path, model, called="The model that the collaboration begins with")


def _other_model(called: str, why: str) -> BadInput:
    return BadInput("{called} is of another model: {why}.", called, why, hint="Ask the organiser for one that fits.")
