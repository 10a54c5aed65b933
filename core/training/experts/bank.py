"""The experts that a worker hosts, and their files.

A file is a safetensors file with one line of metadata, `ExpertHeader`, and the parameters by their names in float16,
which a trained block fits (or float32, where a number is too large).  The optimiser's memory is not in it: it would be
two more times as large, and an expert that moves to another host begins with an empty one, as after a warm restart.
"""

import contextlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import msgspec
import torch
from msgspec import Meta
from safetensors import SafetensorError, safe_open

from core.base.content import CHUNK_BYTES, chunk_digests, digest, root_digest
from core.base.mixture import NUMBER_BYTES, ExpertNumbers
from core.base.problems import BadInput, Damaged, UserProblem, WireProblem
from core.base.wire import Schema
from core.experts.grid import Place
from core.system.atomic_files import make_directory, set_aside, write_atomic
from core.system.file_chunks import file_chunks
from core.tasks.experts.blocks import new_expert
from core.training.devices.micro_batch import lacked_memory
from core.training.experts.bounds import VERSION_MAX, UsualNorm
from core.training.experts.hosted_expert import HostedExpert
from core.training.states.state_image import state_image
from core.workers.expert_files import expert_file, expert_files, has_named_digest, keep_newest

METADATA: Final = "potluck"
HEADER_BYTES_MAX: Final = 64 * 1024
"""Upper bound on what a file has beside its numbers."""
HALF_MAX: Final = 65_000.0
"""Largest magnitude that is written as float16."""

DEVICE_SHARE: Final = 1 / 2
"""Part of a graphics card's free memory that experts may take: the worker that trains needs some, too."""

Expert: TypeAlias = tuple[int, Place]


class ExpertHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What a file says of the state in it."""

    run: str
    """The manifest's id, hex digits."""
    layer: int
    place: tuple[int, ...]
    version: Annotated[int, Meta(ge=0, le=VERSION_MAX)]


HEADER: Final = Schema(ExpertHeader, named="the header of an expert's file", bytes_max=HEADER_BYTES_MAX, form="json")


@dataclass(frozen=True, slots=True)
class ExpertFile:
    """A state of an expert that lies on disk as a whole file."""

    path: Path
    version: int
    digest: bytes
    """core.base.content.root_digest of the file's chunks."""
    size_bytes: int


class ExpertBank:
    """The experts of one worker, and their files in one folder.

    Args:
        numbers: The manifest's.
        run: The manifest's id.
        folder: Nobody else writes in it.
        device: Where they compute, as torch calls it.
        memory_bytes: What all of them may take of the main memory.
    """

    def __init__(self, numbers: ExpertNumbers, *, run: bytes, folder: Path, device: str, memory_bytes: int) -> None:
        self._numbers = numbers
        self._run = run
        self._folder = folder
        self._device = device
        self._usual: dict[int, UsualNorm] = {}
        memory_bytes = int(min(memory_bytes, DEVICE_SHARE * _free_bytes(device)))
        self.places_max = memory_bytes // numbers.hosting_bytes
        """Number of experts for which there is memory."""
        self.experts: dict[Expert, HostedExpert] = {}
        self._files: dict[Expert, Path] = {}
        """The newest file of each, from which it was taken or to which it was written."""

    def take(self, expert: Expert, path: Path | None) -> HostedExpert:
        """Host an expert from now on.

        Args:
            expert: Its layer and place.
            path: A file of its state, maybe a stranger's, unless it is here already; None: it begins anew.  One of the
                bank's own folder that is damaged is set aside, so that nobody finds it again.

        Raises:
            BadInput: there is no memory for it.
            Damaged: the file is not of this expert.
        """
        if expert in self.experts:
            return self.experts[expert]
        if len(self.experts) >= self.places_max:
            raise BadInput("There is memory for {count} experts.", self.places_max)
        try:
            hosted = self._made(expert)
        except (RuntimeError, MemoryError) as error:
            if not lacked_memory(error):
                raise
            raise BadInput("There is memory for {count} experts.", len(self.experts)) from error
        if path is not None:
            self._fill(hosted, expert, path)
        self.experts[expert] = hosted
        return hosted

    def give_up(self, expert: Expert) -> None:
        """Host an expert no longer; its files stay."""
        self.experts.pop(expert, None)
        self._files.pop(expert, None)

    def save(self, expert: Expert) -> ExpertFile:
        """Write the state of an expert as it is now; of its files this one stays, and the one before it.

        Raises:
            KeyError: it is not hosted.
            Damaged: it is not finite, so nobody could load it.
            NoSpace: the disk is full.
        """
        hosted = self.experts[expert]
        tensors = {name: tensor.detach().cpu() for name, tensor in hosted.tensors().items()}
        most = max(float(tensor.abs().max()) for tensor in tensors.values())
        if not math.isfinite(most):
            raise Damaged("The model gives numbers that are not finite.")
        if most <= HALF_MAX:
            tensors = {name: tensor.half() for name, tensor in tensors.items()}
        header = ExpertHeader(run=self._run.hex(), layer=expert[0], place=expert[1], version=hosted.version)
        data = state_image(tensors, {METADATA: json.dumps(msgspec.to_builtins(header), sort_keys=True)})
        root = root_digest(chunk_digests(data[at : at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES)))
        make_directory(self._folder)
        path = expert_file(self._folder, expert, version=hosted.version, root=root)
        write_atomic(path, data)
        self._files[expert] = path
        keep_newest(self._folder, expert, path)
        return ExpertFile(path, hosted.version, root, len(data))

    def mend(self, expert: Expert) -> bool:
        """Have an expert whose parameters are not numbers any more go back to its last file, or begin anew.

        Returns:
            Whether it had to.
        """
        hosted = self.experts[expert]
        if hosted.is_finite:
            return False
        last = self._files.get(expert)
        paths = [last, *reversed(expert_files(self._folder).get(expert, []))] if last else []
        for path in paths:  # into the memory that it has: there may be no other
            with contextlib.suppress(Damaged):
                self._fill(hosted, expert, path)
                return True
        self._files.pop(expert, None)
        hosted.set_to(self._block(expert).state_dict(), 0)
        return True

    def move(self, device: str) -> None:
        """Take all experts to a device, with what their optimisers remember."""
        for hosted in self.experts.values():
            hosted.move(device)

    def _made(self, expert: Expert) -> HostedExpert:
        """An expert as it begins anew."""
        usual = self._usual.setdefault(expert[0], UsualNorm())
        return HostedExpert(self._block(expert), self._numbers, device=self._device, usual=usual)

    def _block(self, expert: Expert) -> torch.nn.Module:
        """Its block with the numbers with which it begins anew."""
        layer, place = expert
        seed = int.from_bytes(digest(self._run + bytes((layer, *place)))[:8], "little")
        numbers = self._numbers
        return new_expert(numbers.block, width=numbers.width, factor=numbers.factor, seed=seed)

    def _fill(self, hosted: HostedExpert, expert: Expert, path: Path) -> None:
        """Have an expert go on from a file; if that is damaged it is set aside.

        Raises:
            Damaged: it is.
        """
        try:
            hosted.set_to(*read_expert(path, expert, hosted.tensors(), numbers=self._numbers, run=self._run))
        except Damaged:
            self._set_aside(path)
            raise
        self._files[expert] = path

    def _set_aside(self, path: Path) -> None:
        """Rename a damaged file, if it is the bank's own; one of each expert is kept."""
        if path.parent == self._folder and path.exists():
            for earlier in self._folder.glob(f"{path.name.partition('-v')[0]}-v*.damaged-*"):
                earlier.unlink(missing_ok=True)
            with contextlib.suppress(UserProblem):
                set_aside(path)


def read_expert(
    path: Path, expert: Expert, expected: Mapping[str, torch.Tensor], *, numbers: ExpertNumbers, run: bytes
) -> tuple[dict[str, torch.Tensor], int]:
    """The parameters in a file, which may be a stranger's, and their version.

    Args:
        path: The file.
        expert: Its layer and place.
        expected: Tensors as they must be, by name.
        numbers: The mixture's.
        run: The manifest's id.

    Raises:
        Damaged: it is not a file of this expert.
    """
    found: dict[str, torch.Tensor] = {}
    try:
        if path.stat().st_size > NUMBER_BYTES * numbers.expert_numel + HEADER_BYTES_MAX:
            raise Damaged("The checkpoint {name} is of another model.", path.name)
        if not has_named_digest(path, root_digest(chunk_digests(file_chunks(path)))):
            raise Damaged("The checkpoint {name} is not what was written.", path.name, hint="Check the disk.")
        with safe_open(path, framework="pt") as file:
            header = HEADER.decode((file.metadata() or {}).get(METADATA, "").encode())
            if set(file.keys()) != set(expected):
                raise Damaged("The checkpoint {name} is of another model.", path.name)
            for name, tensor in expected.items():
                read = file.get_tensor(name)
                right = read.shape == tensor.shape and read.dtype in {torch.float16, torch.float32}
                if not right or not bool(torch.isfinite(read).all()):
                    raise Damaged("The checkpoint {name} holds something else than this model's state.", path.name)
                found[name] = read.float()
    except (SafetensorError, WireProblem, OSError, RuntimeError, ValueError) as error:
        raise Damaged("The checkpoint {name} cannot be read: {error}.", path.name, error) from error
    if (header.run, (header.layer, header.place)) != (run.hex(), expert):
        raise Damaged("The checkpoint {name} holds another state than it should.", path.name)
    return found, header.version


def _free_bytes(device: str) -> float:
    """Free memory of a device that has its own."""
    match device.partition(":")[0]:
        case "cuda":
            return torch.cuda.mem_get_info(device)[0]
        case "mps":
            return torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory()
    return math.inf
