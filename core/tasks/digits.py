"""Images of digits, told apart by a model whose layers are experts (Learning@home, section 4.2).

Letters of shapes: B images of N pixels, W numbers between the layers, C classes.
"""

# ruff: noqa: N803, N806, N815 - names of arrays end in their shapes

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from core.api.score import Score
from core.base.manifest import Manifest, Numbers
from core.base.mixture import ExpertNumbers
from core.base.problems import BadInput, later
from core.base.tasks import TOKENIZERS
from core.experts.messages import check_micro_batch
from core.tasks.digits_cutting import CLASSES, DigitsNumbers, digits_numbers, image_rows
from core.tasks.experts.gate import Gate
from core.tasks.start import log_shares, started
from core.tasks.task import Blobs, Evaluation, Losses, ModelCosts, PreparedTask
from core.tasks.text import GivenText, Progress, read_parts, write_blobs
from core.text.order.documents import Document

if TYPE_CHECKING:
    from core.tasks.pretrained import Pretrained

SUMMARY: Final = "A mixture of experts learns to read digits in"
NUMBERS: Final = DigitsNumbers
COUNTS: Final = "counts"
HELD_OUT: Final = "held_out"
CHARS_MAX: Final = 50_000_000
"""Characters that are read; 4 % are kept to measure with, which are about 1,270 images of 784 pixels."""
BATCH: Final = 128
"""Number of held-out images in a batch."""


@dataclass(frozen=True, slots=True)
class DigitsBatch:
    """Pixels from 0 to 1, and classes."""

    images_BN: torch.Tensor
    classes_B: torch.Tensor

    @property
    def samples(self) -> int:
        """The number of images, each of which is a sample."""
        return len(self.classes_B)


class DigitsTrunk(nn.Module):
    """All of the model but its experts, which have their places in `gates`.

    Args:
        pixels: N.
        experts: Sizes of the mixture.
    """

    def __init__(self, pixels: int, experts: ExpertNumbers) -> None:
        super().__init__()
        self.into = nn.Linear(pixels, experts.width)
        self.gates = nn.ModuleList(Gate(experts.width, experts.grid) for _ in range(experts.layers))
        self.norm = nn.LayerNorm(experts.width)
        self.head = nn.Linear(experts.width, CLASSES)

    def first(self, batch: DigitsBatch) -> torch.Tensor:
        """The images as W numbers each (`core.tasks.experts.stages.Stages`)."""
        return self.enter(batch.images_BN.to(self.into.weight.device))

    def enter(self, inputs: torch.Tensor) -> torch.Tensor:
        """Images, whose pixels are from 0 to 1, as W numbers each."""
        return self.into(inputs)  # type: ignore[no-any-return]

    def gate(self, layer: int, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The normalised rows, and their scores."""
        return self.gates[layer](x)  # type: ignore[no-any-return]

    def after(self, layer: int, x: torch.Tensor, mixed_RW: torch.Tensor) -> torch.Tensor:  # noqa: ARG002 - all alike
        """The residual connection around the experts."""
        return x + mixed_RW

    def scores(self, x: torch.Tensor) -> torch.Tensor:
        """Scores (B, C) of the classes."""
        return self.head(self.norm(x)).float()  # type: ignore[no-any-return]

    def last(self, x: torch.Tensor, batch: DigitsBatch) -> Losses:
        """The cross entropy, a mean over the images."""
        loss = nn.functional.cross_entropy(self.scores(x), batch.classes_B.to(x.device))
        return Losses(objective=loss, reported=loss.detach())


class Digits:
    """The task of one collaboration; `counts` says how often each class stands in what is learned from."""

    loss_name: ClassVar = later("digit loss")
    loss_unit: ClassVar = later("nats")
    guesses: ClassVar = later("digits")
    sample_tokens: Final = 0

    def __init__(
        self, numbers: DigitsNumbers, experts: ExpertNumbers, *, counts: Sequence[int], held_out: Iterable[Document]
    ) -> None:
        self.numbers = numbers
        self._experts = experts
        rows = list(islice(image_rows(held_out, pixels=numbers.pixels), numbers.held_out))
        if not rows or len(counts) != CLASSES:
            raise BadInput("The held-out images do not fit the numbers.", hint="Ask the organiser.")
        self._logs_C = log_shares(counts)
        self._meant_B = torch.tensor([int(row[0]) for row in rows])
        size = min(BATCH, numbers.micro_batch)
        self.held_out = tuple(_batch(np.stack(rows[at : at + size])) for at in range(0, len(rows), size))

    @property
    def micro_batch(self) -> int:
        """Images of a batch that suit a small computer, by the manifest."""
        return self.numbers.micro_batch

    @property
    def sample_bytes(self) -> int:
        """What is kept of one image while experts answer (`costs`)."""
        return costs(msgspec.to_builtins(self.numbers), self._experts).activation_bytes

    def model(self, seed: int) -> DigitsTrunk:
        """A new trunk, which knows how frequent each class is."""
        model = started(DigitsTrunk(self.numbers.pixels, self._experts), seed=seed)
        with torch.no_grad():
            model.head.bias.copy_(self._logs_C)
        return model

    def layers(self, model: nn.Module) -> Sequence[nn.Module]:  # noqa: ARG002 - flights keep what goes into each
        """None: flights keep no more than what goes into each layer as it is."""
        return ()

    def stages(self, model: nn.Module) -> DigitsTrunk:
        """The trunk, which has its stages as methods."""
        assert isinstance(model, DigitsTrunk)
        return model

    def batch(self, rows_BR: NDArray[Any], seeds_B: NDArray[np.uint64]) -> DigitsBatch:  # noqa: ARG002 - see below
        """The images as they are, for nothing is drawn for them."""
        return _batch(rows_BR)

    def loss(self, model: nn.Module, batch: DigitsBatch) -> Losses:
        """The loss of the trunk alone."""
        stages = self.stages(model)
        return stages.last(stages.first(batch), batch)

    def evaluate(self, model: nn.Module) -> Evaluation:
        """How well the trunk does alone."""
        stages = self.stages(model)
        with torch.no_grad():
            return self.measured(model, [stages.first(batch) for batch in self.held_out])

    def measured(self, model: nn.Module, found: Sequence[torch.Tensor]) -> Evaluation:
        """The loss on the held-out images, and that of the classes' frequencies."""
        with torch.no_grad():
            scores_BC = torch.cat([self.stages(model).scores(x) for x in found]).cpu()
            loss = nn.functional.cross_entropy(scores_BC, self._meant_B).item()
        right = (scores_BC.argmax(1) == self._meant_B).double().mean().item()
        plain = -self._logs_C[self._meant_B].mean(dtype=torch.float64).item()
        often = (self._meant_B == self._logs_C.argmax()).double().mean().item()
        return Evaluation(Score(loss, right), {later("digit frequencies"): Score(plain, often)})

    def pretrained(self, model: nn.Module) -> "Pretrained":  # noqa: ARG002 - there is none
        """Refuse: `transformers` has no such model.

        Raises:
            BadInput: always.
        """
        raise BadInput("The task {task} has no model that transformers knows.", "digits")


def prepare(numbers: Numbers, text: GivenText, out_dir: Path, *, progress: Progress) -> PreparedTask:
    """Count the classes of the images, and keep some images to measure with."""
    read = digits_numbers(numbers)
    if text.tokenizer != TOKENIZERS[0]:
        raise BadInput("The task digits reads images, and takes no tokenizer.", hint="Leave tokenizer out.")
    train, held_out = read_parts(text, progress, chars_max=CHARS_MAX)
    counted = Counter(int(row[0]) for row in image_rows(train, pixels=read.pixels))
    measured = islice(image_rows(held_out, pixels=read.pixels), read.held_out)
    kept = [row.astype(np.uint8).tobytes().hex() for row in measured]
    if not counted or not kept:
        message = (
            "The task digits learns from images, and {called} has too few of {pixels} pixels: {train} to learn from "
            "and {held_out} to measure with."
        )
        hint = (
            "Name with --text a folder of idx files, such as train-images-idx3-ubyte with train-labels-idx1-ubyte "
            "beside it."
        )
        raise BadInput(message, text.called, read.pixels, counted.total(), len(kept), hint=hint)
    counts = [counted[digit] for digit in range(CLASSES)]
    blobs = write_blobs(out_dir, {COUNTS: counts, HELD_OUT: [[one] for one in kept]})
    return PreparedTask(numbers=msgspec.to_builtins(read), blobs=blobs)


def prepare_from(start: Path, numbers: Numbers, text: GivenText, out_dir: Path, *, progress: Progress) -> PreparedTask:  # noqa: ARG001 - there is none
    """Refuse: there is no model of `transformers` to begin with.

    Raises:
        BadInput: always.
    """
    raise BadInput("The task {task} has no model that transformers knows.", "digits")


def costs(numbers: Numbers, experts: ExpertNumbers | None = None) -> ModelCosts:
    """What the trunk takes: experts lie elsewhere.  Kept is what goes into each layer, and all answers."""
    if experts is None:
        raise BadInput("The task {task} needs a table [experts].", "digits")
    read = digits_numbers(numbers)
    check_micro_batch(experts, micro_batch=read.micro_batch)
    width, heads = experts.width, sum(experts.grid)
    gate = 2 * width + (width + 1) * heads
    parameters = (read.pixels + 1) * width + experts.layers * gate + 2 * width + (width + 1) * CLASSES
    kept = experts.layers * width * (2 + experts.top + experts.spare) + read.pixels
    return ModelCosts(parameters=parameters, activation_bytes=4 * kept)


def trunk(numbers: Numbers, experts: ExpertNumbers) -> DigitsTrunk:
    """A trunk with any parameters, for those that were written to a file."""
    return DigitsTrunk(digits_numbers(numbers).pixels, experts)


def open_task(manifest: Manifest, blobs: Blobs) -> Digits:
    """The task of numbers and blobs as `prepare` has made them; a stranger may have changed them."""
    if manifest.mixture is None:
        raise BadInput("The task {task} needs a table [experts].", "digits")
    counts = blobs.decode(COUNTS, list[int])
    if any(not 0 <= count <= 2**53 for count in counts):
        raise BadInput("The held-out images do not fit the numbers.", hint="Ask the organiser.")
    held_out = blobs.decode(HELD_OUT, list[Document])
    numbers = digits_numbers(manifest.numbers)
    check_micro_batch(manifest.mixture, micro_batch=numbers.micro_batch)
    return Digits(numbers, manifest.mixture, counts=counts, held_out=held_out)


def _batch(rows_BR: NDArray[Any]) -> DigitsBatch:
    rows = torch.from_numpy(rows_BR.astype(np.int64))
    return DigitsBatch(rows[:, 1:].float() / 255, rows[:, 0])
