"""States on disk, as safetensors files whose bytes are equal on peers whose states are.

A file is whole or absent: it is written beside its place, synced, renamed, and the folder synced.  Its name ends with
its digest, so that a bit that the disk has changed is noticed before anything is used.  It holds one line of
metadata, a float32 tensor `parameters/P` for each parameter P, and what the optimiser remembers, by name, as it is: of
a vector with a number for each parameter's number the tensors `NAME/P`, of any other tensor all of it as `NAME`.
"""

import contextlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec
import torch
from safetensors import SafetensorError, safe_open

from core.base.content import CHUNK_BYTES, chunk_digests, root_digest
from core.base.problems import BadInput, Damaged, WireProblem
from core.base.state_header import METADATA, STATE_HEADER, StateHeader, epoch_of, names_digest, state_file_name
from core.system.atomic_files import delete_torn, make_directory, scarcity_of, set_aside, system_error_of, write_atomic
from core.system.file_chunks import file_chunks
from core.training.optimizers.storage import Bounds
from core.training.states.state_image import state_image
from core.training.vectors.flat import FlatParameters

KEPT: Final = 2
FORMAT: Final = 2
"""Counted up when files are no longer understood by versions that know of formats: the second has a ledger."""
EVERY: Final = (-math.inf, math.inf)
_NONE: Final[Bounds] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Saved:
    """A state that lies on disk as a whole file, named by its digest."""

    path: Path
    digest: bytes
    """core.base.content.root_digest of the file's chunks."""
    chunks: bytes
    """The digests of the chunks, one after the other."""


class Checkpoints:
    """The states of one collaboration in one folder.

    Args:
        folder: Nobody else writes in it.
        manifest: The collaboration's id; a state of another is refused.
        parameters: The layout, and the parameters' own numbers.
        state: The optimiser's tensors by name (`core.training.optimizers.optimizer`).
        bounds: Bounds of tensors that cannot hold every number; a state beyond them is refused.
    """

    def __init__(
        self,
        folder: Path,
        *,
        manifest: bytes,
        parameters: FlatParameters,
        state: Mapping[str, torch.Tensor],
        bounds: Bounds = _NONE,
    ) -> None:
        self._folder = folder
        self._manifest = manifest.hex()
        self._parameters = parameters
        self._named = {"parameters": parameters.values_N, **state}
        self._bounds = bounds
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._writing: Future[Saved] | None = None
        self.damaged: list[Path] = []
        """Files that `load_newest` could not read, where they are now."""

    def save(
        self,
        epoch: int,
        lineage: bytes,
        *,
        ancestors: bytes = b"",
        ledger: bytes = b"",
        means: bytes = b"",
        first: Callable[[], None] = lambda: None,
    ) -> Future[Saved]:
        """Write the state as it is now, then delete all but the newest two, and those of a later epoch, in a thread.

        The state is copied before this returns.  The state before it is written first: at most one is on its way.  A
        later epoch is there only after a state of an earlier one was loaded, because ours was abandoned.

        Args:
            epoch: Epoch of the state.
            lineage: Lineage of the state.
            ancestors: Marks of the states that led to it, the nearest first.
            ledger: Who gave what up to there.
            means: Digests of the means that led to it, the nearest first.
            first: Called in the thread before the state is written; what it raises leaves the state unwritten.

        Returns:
            Done when the file is whole and synced.

        Raises:
            NoSpace: the disk was full when the state before was written.
        """
        name = StateHeader(
            epoch=epoch,
            lineage=lineage.hex(),
            manifest=self._manifest,
            format=FORMAT,
            ledger=ledger,
            ancestors=ancestors.hex(),
            means=means.hex(),
        )
        image = self._image(name)

        self._writing = self._writer.submit(self._write, image, name, first=first)
        return self._writing

    def save_as(self, name: StateHeader, digest: bytes, *, first: Callable[[], None] = lambda: None) -> Saved:
        """Write the state as it is now under the header that others gave it, if that makes the file that they have.

        Args:
            name: The header.
            digest: Root digest of their file.
            first: As for `save`.

        Raises:
            Damaged: it is another file; nothing was written.
            NoSpace: the disk is full; the older states are untouched.
        """
        return self._writer.submit(self._write, self._image(name), name, digest, first=first).result()

    def _image(self, name: StateHeader) -> memoryview:
        """The file of the state as it is now, once the one before it is written.

        Raises:
            NoSpace: the disk was full.
        """
        if self._writing is not None:
            self._writing.result()
        metadata = {METADATA: json.dumps(msgspec.to_builtins(name), sort_keys=True)}
        return state_image(dict(self._tensors()), metadata)

    def _write(
        self, data: memoryview, name: StateHeader, digest: bytes | None = None, *, first: Callable[[], None]
    ) -> Saved:
        chunks = chunk_digests(data[at : at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES))
        root, epoch, lineage = root_digest(chunks), name.epoch, bytes.fromhex(name.lineage)
        if digest is not None and root != digest:
            raise Damaged("Step {epoch} led to another state than that of others.", epoch)
        make_directory(self._folder)
        first()
        path = self._folder / state_file_name(epoch, lineage, root)
        same = path.name.removesuffix(f"{root.hex()[:32]}.safetensors")
        write_atomic(path, data)
        others = [other for other in self._newest_first() if other != path]
        later = [other for other in others if _epoch(other) > epoch or other.name.startswith(same)]
        for other in later + [other for other in others if other not in later][KEPT - 1 :]:
            with contextlib.suppress(OSError):  # Windows keeps what somebody reads; the next save tries again
                other.unlink()
        return Saved(path, root, b"".join(chunks))

    @property
    def is_finite(self) -> bool:
        """Whether the state as it is now could be loaded again: a number that is not finite makes a file damaged."""
        ends = (torch.aminmax(tensor.detach().cpu()) for tensor in self._named.values())  # a twelfth of isfinite's time
        return all(bool(torch.isfinite(end)) for pair in ends for end in pair)

    def load(self, path: Path, *, wanted: tuple[int, bytes] | None = None) -> StateHeader:
        """Replace the parameters and what the optimiser remembers by those of a file.

        Args:
            path: The file.
            wanted: Epoch and lineage that it must name; None: whatever it names.

        Raises:
            Damaged: it is torn, or of another collaboration; nothing has changed.
            BadInput: a newer version wrote our own file in a format of its own; nothing has changed.
        """
        found: dict[str, torch.Tensor] = {}
        try:
            with safe_open(path, framework="pt") as file:
                name = STATE_HEADER.decode((file.metadata() or {}).get(METADATA, "").encode())
                if name.format > FORMAT and wanted is None:  # what a stranger gave is just refused
                    message = "The checkpoint {name} was written by a newer version of Potluck."
                    raise BadInput(message, path.name, hint="Update Potluck; nothing was changed.")
                lineage, _ = bytes.fromhex(name.lineage), bytes.fromhex(name.ancestors)
                if wanted is not None and (name.epoch, lineage) != wanted:
                    raise Damaged("The checkpoint {name} holds another state than it should.", path.name)
                expected = dict(self._tensors())
                if set(file.keys()) != set(expected):
                    raise Damaged("The checkpoint {name} is of another model.", path.name)
                for key, tensor in expected.items():
                    read = found[key] = file.get_tensor(key)
                    same = read.shape == tensor.shape and read.dtype == tensor.dtype
                    if not same or not self._can_hold(key, read):
                        raise Damaged("The checkpoint {name} holds something else than this model's state.", path.name)
        except (SafetensorError, WireProblem, OSError, RuntimeError, ValueError) as error:
            if wanted is None or isinstance(error, OSError):  # a stranger's file may word a library's sentence
                _raise_scarcity(error)
            raise Damaged("The checkpoint {name} cannot be read: {error}.", path.name, error) from error
        if name.manifest != self._manifest or name.format > FORMAT:
            raise Damaged("The checkpoint {name} is of another collaboration.", path.name)
        with torch.no_grad():
            for key, tensor in expected.items():
                tensor.copy_(found[key])
        return name

    def load_newest(self) -> tuple[StateHeader, Saved] | None:
        """Load the newest state that is whole; None when there is none.

        What a torn write left is deleted; a damaged file is set aside.

        Raises:
            BadInput: a newer version wrote it, in a format of its own.
        """
        if self._writing is not None:
            wait([self._writing])
        delete_torn(self._folder)
        for path in self._newest_first():
            try:
                saved = _saved(path)
                return self.load(path), saved
            except Damaged:
                self.damaged.append(set_aside(path))
        return None

    def _can_hold(self, key: str, numbers: torch.Tensor) -> bool:
        """Whether all these can stand in the tensor of this name."""
        least, greatest = self._bounds.get(key.partition("/")[0], EVERY)
        ends = [end.item() for end in numbers.aminmax()]
        return all(math.isfinite(end) and least <= end <= greatest for end in ends)

    def _newest_first(self) -> list[Path]:
        if not self._folder.is_dir():
            return []
        found = [path for path in self._folder.iterdir() if epoch_of(path.name) is not None]
        return sorted(found, key=lambda path: (_epoch(path), path.stat().st_mtime_ns), reverse=True)

    def _tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        for name, tensor in self._named.items():
            if tensor.shape == self._parameters.values_N.shape:
                for span in self._parameters.spans:
                    yield f"{name}/{span.name}", span.of(tensor)
            else:
                yield name, tensor


def _saved(path: Path) -> Saved:
    """A file as it lies there.

    Raises:
        Damaged: it cannot be read, or is not what was written.
    """
    try:
        chunks = chunk_digests(file_chunks(path))
    except OSError as error:
        _raise_scarcity(error)
        raise Damaged("The checkpoint {name} cannot be read: {error}.", path.name, error) from error
    root = root_digest(chunks)
    if not names_digest(path.name, root):
        raise Damaged("The checkpoint {name} is not what was written.", path.name, hint="Check the disk.")
    return Saved(path, root, b"".join(chunks))


def _raise_scarcity(error: Exception) -> None:
    """A computer that lacks files or memory has damaged nothing: the checkpoint stays where it is.

    Raises:
        UserProblem: it lacks them.
    """
    system = system_error_of(error)
    if system is not None and (lacking := scarcity_of(system)):
        raise lacking from error


def _epoch(path: Path) -> int:
    return epoch_of(path.name) or 0
