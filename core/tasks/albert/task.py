"""The task as the worker sees it: a model, batches, a loss, an evaluation."""

# ruff: noqa: N806 - names of arrays end in their shapes

import random
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Annotated, ClassVar

import numpy as np
import torch
from msgspec import Meta
from tokenizers import Tokenizer
from torch.nn.functional import cross_entropy

from core.base.manifest import Manifest
from core.base.problems import BadInput
from core.data.documents import Document
from core.data.shuffle import shuffled
from core.data.sources import documents
from core.tasks.albert.examples import Example, MaskedBatch, examples, masked_batch
from core.tasks.albert.model import PretrainedAlbert, build, log_frequencies
from core.tasks.albert.numbers import MASKED_SHARE, AlbertNumbers, albert_numbers
from core.tasks.albert.prepare import HELD_OUT, TOKENIZER, UNIGRAM
from core.tasks.albert.pretrained import pretrained
from core.tasks.parameters import begun
from core.tasks.pretrained import Pretrained
from core.tasks.task import Blobs, Evaluation, Losses
from core.tasks.text_files import TextFiles
from core.tasks.tokenizers.unigram import pieces, read_unigram

HELD_OUT_SEED = 0
KEPT_MAX = 50_000
"""Examples kept in memory, so that a small source is read and cut only once."""


class Albert:
    """Masked words and the order of sentences.

    Args:
        numbers: Sizes and the source of the text.
        tokenizer: Cuts text into pieces.
        held_out: Documents to measure with.
        counts: How often each piece stands in the text for training, of length `vocab_size`.
        blobs: With the parameters that the model begins with, if the manifest names any.
    """

    loss_name: ClassVar = "masked-word loss"
    loss_unit: ClassVar = "nats"

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
        self._tokenizer = tokenizer
        self._blobs = blobs
        self.log_frequencies_V = log_frequencies(counts)
        self.held_out = self._measuring(held_out)
        """The batches that `evaluate` computes on, the same on all computers."""

    @classmethod
    def from_manifest(cls, manifest: Manifest, blobs: Blobs) -> "Albert":
        """The task that a manifest describes.

        Raises:
            BadInput: numbers or blobs cannot be used.
        """
        numbers = albert_numbers(manifest.numbers)
        tokenizer = read_unigram(blobs.read(TOKENIZER))
        held_out = blobs.decode(HELD_OUT, list[Document])
        counts = blobs.decode(UNIGRAM, list[Annotated[int, Meta(ge=0, le=2**53)]])
        if tokenizer.get_vocab_size() != numbers.vocab_size or len(counts) != numbers.vocab_size:
            raise BadInput(
                "The tokenizer does not fit the manifest's numbers.", hint="Ask the organiser for a new one."
            )
        return cls(numbers, tokenizer=tokenizer, held_out=held_out, counts=counts, blobs=blobs)

    def model(self, seed: int) -> PretrainedAlbert:
        """A new model whose start is described in `core.tasks.albert.model`, or is that of the manifest."""
        return begun(build(self.numbers, self.log_frequencies_V, seed=seed), self._blobs)

    def pretrained(self, model: torch.nn.Module) -> Pretrained:
        """A copy of a model as plain ALBERT, with the tokenizer."""
        assert isinstance(model, PretrainedAlbert)
        return pretrained(model, self._tokenizer)

    def batches(self, seed: int) -> Iterator[MaskedBatch]:
        """Micro-batches without end, pass after pass, each pass in an order of its own.

        Raises:
            BadInput: the source holds no text for training, or not enough for one example.
        """
        numbers = self.numbers
        generator = np.random.default_rng(seed)
        chance = random.Random(seed)  # noqa: S311 - the order of the data is no secret
        stream = shuffled(self._passes(chance), chance, size=numbers.buffer)
        while chosen := list(islice(stream, numbers.micro_batch)):
            yield masked_batch(
                chosen, length=numbers.sequence_length, vocab_size=numbers.vocab_size, generator=generator
            )

    def loss(self, model: torch.nn.Module, batch: MaskedBatch) -> Losses:
        """Masked words, each sample counting by its words, plus the order of sentences.

        The divisor is the expected number of masked words, not the number drawn, so that the mean over two batches
        is the loss of their union.
        """
        words, order, guessed = self._errors(model, batch)
        expected = batch.samples * MASKED_SHARE * self.numbers.sequence_length
        objective = words / expected + self.numbers.order_weight * order / batch.samples
        return Losses(objective=objective, reported=words.detach() / max(guessed, 1))

    def evaluate(self, model: torch.nn.Module) -> Evaluation:
        """Masked words of the held-out text, at places that are the same for everybody, always."""
        words = reference = 0.0
        places = 0
        with torch.no_grad():
            for batch in self.held_out:
                error, _, guessed = self._errors(model, batch)
                words += error.item()
                reference -= self.log_frequencies_V[torch.from_numpy(batch.words_M)].sum(dtype=torch.float64).item()
                places += guessed
        return Evaluation(loss=words / places, baselines={"word frequencies": reference / places})

    def _errors(self, model: torch.nn.Module, batch: MaskedBatch) -> tuple[torch.Tensor, torch.Tensor, int]:
        """Summed cross-entropies of the words and of the orders, and the number of words."""
        device = next(model.parameters()).device
        arrays = (batch.pieces_BT, batch.types_BT, batch.present_BT, batch.places_M, batch.swapped_B, batch.words_M)
        pieces_BT, types_BT, present_BT, places_M, swapped_B, words_M = (torch.from_numpy(a).to(device) for a in arrays)
        words_MV, order_B2 = model(pieces_BT, types_BT, present_BT, places_M)
        words = cross_entropy(words_MV.float(), words_M, reduction="sum")
        return words, cross_entropy(order_B2.float(), swapped_B, reduction="sum"), len(batch.words_M)

    def _passes(self, chance: random.Random) -> Iterator[Example]:
        """The examples for training, again and again; those of a small source are kept after the first pass."""
        kept: list[Example] = []
        while True:
            count = 0
            found = documents(TextFiles(self.numbers.source), part="train", seed=chance.getrandbits(63))
            for count, example in enumerate(self._cut(found, chance), start=1):
                if count <= KEPT_MAX:
                    kept.append(example)
                yield example
            if not count:
                raise BadInput("There is too little text to learn from.", hint="Give more text.")
            while count <= KEPT_MAX:
                chance.shuffle(kept)
                yield from kept
            kept.clear()

    def _cut(self, found: Iterable[Document], chance: random.Random) -> Iterator[Example]:
        return examples((pieces(self._tokenizer, d) for d in found), self.numbers.sequence_length, chance)

    def _measuring(self, held_out: list[Document]) -> list[MaskedBatch]:
        numbers = self.numbers
        chance = random.Random(HELD_OUT_SEED)  # noqa: S311 - the same places for everybody
        stream = islice(self._cut(held_out, chance), numbers.held_out)
        generator = np.random.default_rng(HELD_OUT_SEED)
        batches = []
        while chosen := list(islice(stream, numbers.micro_batch)):
            batches.append(
                masked_batch(chosen, length=numbers.sequence_length, vocab_size=numbers.vocab_size, generator=generator)
            )
        if not sum(len(batch.words_M) for batch in batches):
            raise BadInput("The held-out text is too short to measure with.", hint="Give more text.")
        return batches
