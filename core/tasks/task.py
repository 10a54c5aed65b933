"""What every task can do.  A task is what a swarm learns: a model, batches, a loss, and a way to measure.

The whole of it follows from the manifest, so it is equal on all peers; only the order of the batches is a peer's own.
"""

# ruff: noqa: N803 - names of arrays end in their shapes

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import msgspec

from core.api.score import Filled, Score
from core.base.content import digest
from core.base.manifest import Manifest, Numbers
from core.base.mixture import ExpertNumbers
from core.base.problems import BadInput
from core.system.file_chunks import file_digest

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

    from core.tasks.pretrained import Pretrained
    from core.tasks.text import GivenText

T = TypeVar("T")
BLOB_BYTES_MAX = 64 * 1024 * 1024
"""Upper bound on a blob that is read whole into memory, bytes; a first model has one of its own
(`core.tasks.parameters`)."""


class Batch(Protocol):
    """What one forward and backward pass takes in; what is inside is the task's own business."""

    @property
    def samples(self) -> int:
        """The number of examples in this batch."""


@dataclass(frozen=True, slots=True)
class TensorBatch:
    """A batch that is one tensor, with a row for each sample."""

    rows: "torch.Tensor"

    @property
    def samples(self) -> int:
        """The number of rows, one for each sample."""
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class Losses:
    """What one batch gave, as tensors of no dimension."""

    objective: "torch.Tensor"
    """To be differentiated; a mean over the samples of the batch."""
    reported: "torch.Tensor"
    """What people are shown, in the task's unit; without a gradient."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How well a model does on what it never learns from."""

    score: Score
    baselines: Mapping[str, Score]
    """What models reach that know only one thing, at the same places, by that thing: "word frequencies"."""
    filled: tuple[Filled, ...] = ()
    """The same few pieces of text each time, as the model fills them now; empty where a task has nothing to fill."""
    order_right: float | None = None
    """The share of samples of which the model says right in which order their parts stand; None: they have no order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedTask:
    """The part of a manifest that belongs to the task."""

    numbers: Numbers
    """None of them names anything on a volunteer's computer."""
    blobs: dict[str, Path]
    """Files by the names that the task knows them by."""
    notes: tuple[str, ...] = ()
    """Sentences for the organiser about what came out other than the recipe asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCosts:
    """What a model of certain numbers takes, by closed formulas."""

    parameters: int
    """Numbers that are learned and averaged, exactly."""
    activation_bytes: int
    """Bytes of one sample that the forward pass keeps for the backward pass, float32."""


class TaskModule(Protocol):
    """A module that is a task."""

    @property
    def SUMMARY(self) -> str:  # noqa: N802 - a constant of the module
        """What is learned, in a sentence that goes on with the name of a text: "A model learns to ... in"."""

    @property
    def NUMBERS(self) -> type[msgspec.Struct]:  # noqa: N802 - a class of the module
        """The struct that bounds its numbers."""

    def costs(self, numbers: Numbers, experts: ExpertNumbers | None = None) -> ModelCosts:
        """What a model of these numbers takes.

        Args:
            numbers: The task's.
            experts: Sizes of a mixture, whose experts are not counted; None: the task has none.

        Raises:
            BadInput: they make no model.
        """

    def prepare(
        self, numbers: Numbers, text: "GivenText", out_dir: Path, *, progress: Callable[[str, float], None]
    ) -> PreparedTask:
        """Make what a manifest needs.

        Args:
            numbers: The task's.
            text: What is learned from.
            out_dir: Where the files go.
            progress: Told what happens, and the share that is done.

        Returns:
            All numbers, those that the text decides as it has decided them, and the files.

        Raises:
            BadInput: numbers or text cannot be used.
            NoSpace: the disk is full.
        """

    def prepare_from(
        self,
        start: Path,
        numbers: Numbers,
        text: "GivenText",
        out_dir: Path,
        *,
        progress: Callable[[str, float], None],
    ) -> PreparedTask:
        """Like `prepare`, for a collaboration that goes on from a model as `transformers` has it.

        Args:
            start: A folder with config.json, model.safetensors and tokenizer.json; no code of it is run.
            numbers: As for `prepare`; those that the model fixes are taken from it.
            text: As for `prepare`.
            out_dir: Where the files go.
            progress: As for `prepare`.

        Returns:
            As `prepare`, and the model's parameters among the files (`core.tasks.parameters.START`).

        Raises:
            BadInput: numbers or text cannot be used, or the model is not one of this task's kind.
            NoSpace: the disk is full.
        """

    def open_task(self, manifest: Manifest, blobs: "Blobs") -> "Task":
        """The task of one collaboration.

        Args:
            manifest: Verified, but its numbers are a stranger's.
            blobs: Reads the manifest's blobs, which are a stranger's too.

        Raises:
            BadInput: numbers or blobs cannot be used.
        """


class Task(Protocol):
    """The port between what is learned and the training loop: model, batches, loss, measure."""

    loss_name: ClassVar[str]
    """What a loss measures, in two or three words that people are shown: "masked-word loss"."""
    loss_unit: ClassVar[str]
    """Its unit, such as "nats"; empty: it has none."""
    guesses: ClassVar[str]
    """What a score's share of right guesses is a share of: "blanks"; empty: nothing is guessed."""

    @property
    def numbers(self) -> msgspec.Struct:
        """The manifest's numbers, in a struct that bounds each of them."""

    @property
    def sample_tokens(self) -> int:
        """Tokens of one sample; 0: its samples have none."""

    def model(self, seed: int) -> "torch.nn.Module":
        """A new model on the CPU in float32; the same seed gives the same bits on every computer."""

    @property
    def micro_batch(self) -> int:
        """Samples of a batch that suit a small computer."""

    def batch(self, rows_BR: "NDArray[Any]", seeds_B: "NDArray[np.uint64]") -> Any:
        """The batch of some samples; what a sample is follows from its row and its seed, never from the batch it is in.

        Args:
            rows_BR: B rows as the task's cutter has made them (`core.tasks.cutter`).
            seeds_B: What is drawn for each sample follows from its seed (`core.text.order.chance`).
        """

    @property
    def sample_bytes(self) -> int:
        """What the forward pass keeps of one sample for the backward pass, float32, by a closed formula."""

    def layers(self, model: "torch.nn.Module") -> "Sequence[torch.nn.Module]":
        """The modules of which a pass may keep what goes in, each time one is called, and no more."""

    def loss(self, model: "torch.nn.Module", batch: Any) -> Losses:
        """The loss of one batch, wherever the model's parameters are."""

    def evaluate(self, model: "torch.nn.Module") -> Evaluation:
        """Measure a model on what nobody learns from, the same for everybody; the model stays as it is."""

    def pretrained(self, model: "torch.nn.Module") -> "Pretrained":
        """A copy of a model as `transformers` has it, which says the same of each text, with its tokenizer."""


@dataclass(frozen=True, slots=True)
class Blobs:
    """The manifest's blobs, as files named by their digests.

    Args:
        folder: Where the files are.
        digests: Hex digests by name, as the manifest has them.
    """

    folder: Path
    digests: Mapping[str, str]

    def read(self, name: str) -> bytes:
        """One blob, checked against its digest.

        Raises:
            BadInput: the manifest does not name it, or the file is missing, too long or not what it should be.
        """
        if name not in self.digests:
            raise BadInput(
                "The manifest lacks the file {name}.", repr(name), hint="Ask the organiser for a complete one."
            )
        path = self.folder / self.digests[name]
        try:
            with path.open("rb") as file:
                data = file.read(BLOB_BYTES_MAX + 1)
        except OSError as error:
            raise _unreadable(name, error) from error
        if len(data) > BLOB_BYTES_MAX or digest(data).hex() != self.digests[name]:
            raise _damaged(name)
        return data

    def path(self, name: str, *, bytes_max: int) -> Path:
        """The file of one blob that the manifest names, checked against its digest, which does not take it into memory.

        Args:
            name: Name of the blob.
            bytes_max: Upper bound on its size.

        Raises:
            BadInput: the file is missing, too long or not what it should be.
        """
        path = self.folder / self.digests[name]
        try:
            if path.stat().st_size > bytes_max or file_digest(path).hex() != self.digests[name]:
                raise _damaged(name)
        except OSError as error:
            raise _unreadable(name, error) from error
        return path

    def decode(self, name: str, kind: type[T]) -> T:
        """One blob of JSON as a value of a type that msgspec knows.

        Raises:
            BadInput: as in `read`, or it is not a value of that type.
        """
        try:
            return msgspec.convert(json.loads(self.read(name)), kind)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            message = "The collaboration's file {name} cannot be read: {error}."
            raise BadInput(message, repr(name), error, hint="Ask the organiser for a new one.") from error


def _unreadable(name: str, error: OSError) -> BadInput:
    message = "The collaboration's file {name} cannot be read: {error}."
    return BadInput(message, repr(name), error.strerror or error, hint="Join again.")


def _damaged(name: str) -> BadInput:
    return BadInput("The collaboration's file {name} is damaged.", repr(name), hint="Join again to fetch it anew.")
