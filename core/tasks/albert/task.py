"""The task as the worker sees it: a model, batches, a loss, an evaluation."""

# ruff: noqa: N803, N806 - names of arrays end in their shapes

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec
import numpy as np
import torch
from msgspec import Meta
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch.nn.functional import cross_entropy

from core.api.score import Score
from core.base.manifest import Manifest
from core.base.problems import BadInput, later
from core.tasks.albert.cutting import fitting_tokenizer
from core.tasks.albert.held_out import SHOWN, fill, measuring_batches
from core.tasks.albert.masking import MaskedBatch, Masking
from core.tasks.albert.model import PretrainedAlbert, build, log_frequencies
from core.tasks.albert.numbers import MASKED_SHARE, AlbertNumbers, albert_costs, albert_numbers
from core.tasks.albert.prepare import HELD_OUT, UNIGRAM
from core.tasks.neighbour import read_neighbour
from core.tasks.parameters import begun
from core.tasks.task import Blobs, Evaluation, Losses
from core.text.order.documents import Document

if TYPE_CHECKING:
    from core.tasks.pretrained import Pretrained


class Albert:
    """Masked words and the order of sentences.

    Args:
        numbers: Sizes.
        tokenizer: Cuts text into pieces.
        held_out: Documents to measure with.
        counts: How often each piece stands in the text for training, of length `vocab_size`.
        blobs: Hold what a model reaches that knows only the piece before, and the parameters that the model begins
            with, where the manifest names them.
    """

    loss_name: ClassVar = "masked-word loss"
    loss_unit: ClassVar = later("nats")
    guesses: ClassVar = later("blanks")

    def __init__(
        self,
        numbers: AlbertNumbers,
        *,
        tokenizer: Tokenizer,
        held_out: list[Document],
        counts: list[int],
        blobs: Blobs | None = None,
    ) -> None:
        self.numbers = numbers
        neighbour = None if blobs is None else read_neighbour(blobs)
        self._simple = {} if neighbour is None else {later("the word before"): neighbour}
        self._tokenizer = tokenizer
        self._blobs = blobs
        self.log_frequencies_V = log_frequencies(counts)
        self._masking = Masking(numbers, tokenizer)
        self.held_out = measuring_batches(held_out, tokenizer, numbers)
        """The batches that `evaluate` computes on, the same on all computers."""

    @classmethod
    def from_manifest(cls, manifest: Manifest, blobs: Blobs) -> "Albert":
        """The task that a manifest describes.

        Raises:
            BadInput: numbers or blobs cannot be used.
        """
        numbers = albert_numbers(manifest.numbers)
        tokenizer = fitting_tokenizer(numbers, blobs)
        held_out = blobs.decode(HELD_OUT, list[Document])
        counts = blobs.decode(UNIGRAM, list[Annotated[int, Meta(ge=0, le=2**53)]])
        if len(counts) != numbers.vocab_size:
            raise BadInput("The counts do not fit the manifest's numbers.", hint="Ask the organiser for new ones.")
        return cls(numbers, tokenizer=tokenizer, held_out=held_out, counts=counts, blobs=blobs)

    @property
    def sample_tokens(self) -> int:
        """Pieces of a sample, padding included."""
        return self.numbers.sequence_length

    def model(self, seed: int) -> PretrainedAlbert:
        """A new model whose start is described in `core.tasks.albert.model`, or is that of the manifest."""
        return begun(build(self.numbers, self.log_frequencies_V, seed=seed), self._blobs)

    def pretrained(self, model: torch.nn.Module) -> "Pretrained":
        """A copy of a model as plain ALBERT, with the tokenizer."""
        from core.tasks.albert.pretrained import pretrained  # noqa: PLC0415 - takes seconds

        assert isinstance(model, PretrainedAlbert)
        return pretrained(model, self.numbers, self._tokenizer)

    @property
    def micro_batch(self) -> int:
        """Samples of a batch that suit a small computer, by the manifest."""
        return self.numbers.micro_batch

    @property
    def sample_bytes(self) -> int:
        """What is kept of one sample for the backward pass (`albert_costs`)."""
        return albert_costs(msgspec.to_builtins(self.numbers)).activation_bytes

    def layers(self, model: torch.nn.Module) -> Sequence[torch.nn.Module]:
        """The one layer, which is passed again and again."""
        assert isinstance(model, PretrainedAlbert)
        return [model.network.albert.encoder.layer]

    def batch(self, rows_BR: NDArray[Any], seeds_B: NDArray[np.uint64]) -> MaskedBatch:
        """The rows in order or swapped, with words hidden."""
        return self._masking.batch(rows_BR, seeds_B)

    def loss(self, model: torch.nn.Module, batch: MaskedBatch) -> Losses:
        """Masked words, each sample counting by its words, plus the order of sentences.

        The divisor is the expected number of masked words, not the number drawn, so that the mean over two batches
        is the loss of their union.
        """
        words_MV, order_B2 = self._scores(model, batch)
        words = self._error(words_MV, batch.words_M)
        order = self._error(order_B2, batch.swapped_B)
        expected = batch.samples * MASKED_SHARE * self.numbers.sequence_length
        objective = words / expected + self.numbers.order_weight * order / batch.samples
        return Losses(objective=objective, reported=words.detach() / max(len(batch.words_M), 1))

    def evaluate(self, model: torch.nn.Module) -> Evaluation:
        """Masked words of the held-out text, at places that are the same for everybody, always."""
        words = ordered = 0.0
        said: list[NDArray[np.int64]] = []
        with torch.no_grad():
            for batch in self.held_out:
                words_MV, order_B2 = self._scores(model, batch)
                ordered += float((order_B2.argmax(1).cpu().numpy() == batch.swapped_B).sum())
                words += self._error(words_MV, batch.words_M).item()
                said.append(words_MV.argmax(1).cpu().numpy())
        meant = np.concatenate([batch.words_M for batch in self.held_out])
        frequencies = -self.log_frequencies_V[torch.from_numpy(meant)].mean(dtype=torch.float64).item()
        often = self.log_frequencies_V.argmax().item()
        baselines = {later("word frequencies"): Score(frequencies, float((meant == often).mean())), **self._simple}
        shown = range(0, len(self.held_out), max(1, len(self.held_out) // SHOWN))[:SHOWN]
        filled = [fill(self.held_out[number], said[number], self._tokenizer) for number in shown]
        score = Score(words / len(meant), float((meant == np.concatenate(said)).mean()))
        order_right = ordered / sum(batch.samples for batch in self.held_out)
        return Evaluation(score, baselines, tuple(each for each in filled if each is not None), order_right)

    def _scores(self, model: torch.nn.Module, batch: MaskedBatch) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores of the words (M, V) and of the orders (B, 2), float32."""
        device = next(model.parameters()).device
        arrays = (batch.pieces_BT, batch.types_BT, batch.present_BT, batch.places_M)
        words_MV, order_B2 = model(*(torch.from_numpy(array).to(device) for array in arrays))
        return words_MV.float(), order_B2.float()

    @staticmethod
    def _error(scores_RV: torch.Tensor, true_R: NDArray[np.int64]) -> torch.Tensor:
        """The cross-entropies of all rows, added up."""
        return cross_entropy(scores_RV, torch.from_numpy(true_R).to(scores_RV.device), reduction="sum")
