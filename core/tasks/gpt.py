"""A character-level GPT, which learns the next letter of any text (Radford et al. 2018, in miniature).

Letters of shapes: B samples of T letters each, V letters in the alphabet; the first stands for all that are not in it.
"""

# ruff: noqa: N803, N806 - names of arrays end in their shapes

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice, pairwise
from pathlib import Path
from random import Random
from typing import Annotated, ClassVar, Final

import msgspec
import torch
from msgspec import Meta
from torch import nn

from core.api.score import Score
from core.base.manifest import Manifest, Numbers, checked
from core.base.problems import BadInput
from core.data.documents import Document
from core.data.shuffle import shuffled
from core.data.sources import endless
from core.tasks.neighbour import NEIGHBOUR, Neighbour, read_neighbour
from core.tasks.start import log_shares, started
from core.tasks.task import Blobs, Evaluation, Losses, ModelCosts, PreparedTask, TensorBatch
from core.tasks.text import Progress, read_text, windows, write_blobs
from core.tasks.text_files import PYTHON_DOCS, TextFiles

SUMMARY: Final = "A small GPT learns to write, letter by letter, as in"


class GptNumbers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sizes of the model and of what it is fed."""

    source: Annotated[str, Meta(min_length=1, max_length=4096)] = PYTHON_DOCS
    alphabet: Annotated[int, Meta(ge=2, le=4096)] = 96
    length: Annotated[int, Meta(ge=8, le=1024)] = 64
    heads: Annotated[int, Meta(ge=1, le=32)] = 4
    head_width: Annotated[int, Meta(ge=2, le=128)] = 16
    layers: Annotated[int, Meta(ge=1, le=48)] = 2
    micro_batch: Annotated[int, Meta(ge=1, le=1024)] = 32
    held_out: Annotated[int, Meta(ge=1, le=16_384)] = 256


NUMBERS: Final = GptNumbers
KEPT_WIDTHS: Final = 16
"""Vectors of the model's width that a block keeps of each letter for the backward pass."""


class Gpt(nn.Module):
    """Scores (B, T, V) of the letter after each."""

    def __init__(self, numbers: GptNumbers) -> None:
        super().__init__()
        width, heads = numbers.heads * numbers.head_width, numbers.heads
        self.letters, self.places = nn.Embedding(numbers.alphabet, width), nn.Embedding(numbers.length, width)
        block = nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(block, numbers.layers, nn.LayerNorm(width), enable_nested_tensor=False)
        self.head = nn.Linear(width, numbers.alphabet)

    def forward(self, letters_BT: torch.Tensor) -> torch.Tensor:  # noqa: D102 - torch's
        mask_TT = nn.Transformer.generate_square_subsequent_mask(letters_BT.shape[1], device=letters_BT.device)
        x = self.body(self.letters(letters_BT) + self.places.weight, mask_TT, is_causal=True)
        return self.head(x)  # type: ignore[no-any-return]


class CharacterGpt:
    """The task of one collaboration; `counts` says of each letter how often it stands in the text for training."""

    loss_name: ClassVar = "next-letter loss"
    loss_unit: ClassVar = "nats"
    guesses: ClassVar = "letters"

    def __init__(
        self, numbers: GptNumbers, *, counts: dict[str, int], held_out: list[Document], neighbour: Score | None = None
    ) -> None:
        self.numbers = numbers
        self._simple = {} if neighbour is None else {"the letter before": neighbour}
        self._places = {letter: place for place, letter in enumerate(counts)}
        self._logs_V = log_shares(list(counts.values()))
        found = list(islice(windows(held_out, self._places, numbers.length), numbers.held_out))
        if len(counts) != numbers.alphabet or not found:
            raise BadInput("The alphabet or the held-out text does not fit the numbers.", hint="Ask the organiser.")
        self._held_out = torch.tensor(found)

    @property
    def sample_tokens(self) -> int:
        """Letters of a sample."""
        return self.numbers.length

    def model(self, seed: int) -> Gpt:
        """A new model, which knows how frequent each letter is."""
        model = started(Gpt(self.numbers), spread=0.05, seed=seed)
        model.head.bias.data.copy_(self._logs_V)
        return model

    @property
    def micro_batch(self) -> int:
        """Samples of a batch that suit a small computer, by the manifest."""
        return self.numbers.micro_batch

    def batches(self, seed: int, size: Callable[[], int] | None = None) -> Iterator[TensorBatch]:
        """Micro-batches without end, pass after pass, in an order that follows from the seed; `size` says how large."""
        random = Random(seed)  # noqa: S311 - the order of the data is no secret
        stream = shuffled(
            windows(endless(TextFiles(self.numbers.source), random), self._places, self.numbers.length), random
        )
        while chosen := list(islice(stream, size() if size else self.micro_batch)):
            yield TensorBatch(torch.tensor(chosen))

    def loss(self, model: nn.Module, batch: TensorBatch) -> Losses:
        """The mean over all letters but each sample's first."""
        loss = nn.functional.cross_entropy(*self._guessed(model, batch.rows))
        return Losses(objective=loss, reported=loss.detach())

    def evaluate(self, model: nn.Module) -> Evaluation:
        """The same loss on the held-out text, and that of the letters' frequencies at the same places."""
        loss, right, meant_M = 0.0, 0, self._held_out[:, 1:].flatten()
        with torch.no_grad():
            for rows in torch.split(self._held_out, self.numbers.micro_batch):
                scores_MV, letters_M = self._guessed(model, rows)
                loss += nn.functional.cross_entropy(scores_MV, letters_M, reduction="sum").item()
                right += int((scores_MV.argmax(1) == letters_M).sum().item())
        plain = -self._logs_V[meant_M].mean(dtype=torch.float64).item()
        often = (meant_M == self._logs_V.argmax()).double().mean().item()
        baselines = {"letter frequencies": Score(plain, often), **self._simple}
        return Evaluation(Score(loss / len(meant_M), right / len(meant_M)), baselines)

    def _guessed(self, model: nn.Module, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores (M, V) of all letters but each sample's first, and these letters."""
        letters = rows.to(next(model.parameters()).device)
        return model(letters[:, :-1]).flatten(0, 1).float(), letters[:, 1:].flatten()


def prepare(numbers: Numbers, out_dir: Path, *, progress: Progress) -> PreparedTask:
    """Count the letters of the training text, the most frequent of which become the alphabet."""
    read = checked(numbers, GptNumbers, of="task")
    train, held_out = read_text(read.source, progress)
    counted = Counter(letter for document in train for sentence in document for letter in sentence)
    known = dict(counted.most_common(read.alphabet - 1))
    counts = {"": counted.total() - sum(known.values()), **known}
    places = {letter: place for place, letter in enumerate(counts)}
    held = islice(windows(held_out, places, read.length), read.held_out)
    asked = [pair for window in held for pair in pairwise(window)]
    neighbour = Neighbour(windows(train, places, read.length), list(counts.values())).score(asked)
    blobs = write_blobs(out_dir, {"counts": counts, "held_out": held_out, NEIGHBOUR: msgspec.to_builtins(neighbour)})
    return PreparedTask(numbers=msgspec.to_builtins(read) | {"alphabet": len(counts)}, blobs=blobs)


def costs(numbers: Numbers) -> ModelCosts:
    """Parameters are those of embeddings, blocks, last norm and head."""
    n = checked(numbers, GptNumbers, of="task")
    width = n.heads * n.head_width
    block = 12 * width**2 + 13 * width
    parameters = (n.alphabet + n.length) * width + n.layers * block + 2 * width + n.alphabet * (width + 1)
    kept = n.layers * (KEPT_WIDTHS * width + n.heads + 4) + 2 * width + n.alphabet
    return ModelCosts(parameters=parameters, activation_bytes=4 * n.length * kept)


def open_task(manifest: Manifest, blobs: Blobs) -> CharacterGpt:
    """The task of numbers and blobs as `prepare` has made them; a stranger may have changed them."""
    counts = blobs.decode("counts", dict[str, Annotated[int, Meta(ge=0, le=2**53)]])
    numbers = checked(manifest.numbers, GptNumbers, of="task")
    held_out = blobs.decode("held_out", list[Document])
    return CharacterGpt(numbers, counts=counts, held_out=held_out, neighbour=read_neighbour(blobs))
