"""From documents to batches: pairs of text parts, in order or swapped, with words to be guessed.

Letters of shapes: B samples, T pieces per sample, M places to be guessed in the whole batch.
"""

# ruff: noqa: N806, N815 - names of arrays end in their shapes

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from random import Random
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.tasks.albert.numbers import MASKED_SHARE, SWAPPED_SHARE
from core.tasks.tokenizers.unigram import BEGIN_ID, END_ID, FIRST_WORD_ID, MASK_ID, PAD_ID

SPECIAL_PER_EXAMPLE: Final = 3
"""[CLS], and [SEP] after each part."""
HIDDEN_SHARE: Final = 0.8
REPLACED_SHARE: Final = 0.1
SHORTEST_SHARE: Final = 0.25
"""A rest of a document that fills less than this of an example is dropped."""


@dataclass(frozen=True, slots=True)
class Example:
    """Two neighbouring parts of a document, in their true order, as numbers of pieces; neither is empty."""

    first: NDArray[np.int32]
    second: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class MaskedBatch:
    """One batch of masked text, with the answers to both tasks: hidden words, and order."""

    pieces_BT: NDArray[np.int64]
    types_BT: NDArray[np.int64]
    """0 for the part that stands first, 1 for the other."""
    present_BT: NDArray[np.bool_]
    """False where there is only padding."""
    swapped_B: NDArray[np.int64]
    """1 where the parts stand in the wrong order."""
    places_M: NDArray[np.int64]
    """Indices into the flat B*T pieces."""
    words_M: NDArray[np.int64]
    """What stood at these places."""

    @property
    def samples(self) -> int:
        """The batch size B, counted in pairs of text parts."""
        return len(self.swapped_B)

    @property
    def before(self) -> NDArray[np.int64]:
        """The piece shown before each place, of shape (M,); a sample begins with [CLS], so there always is one."""
        return self.pieces_BT.ravel()[self.places_M - 1]


def examples(documents: Iterable[Sequence[Sequence[int]]], length: int, random: Random) -> Iterator[Example]:
    """Cut documents (sentences of pieces) into examples that are as long as possible.

    Args:
        documents: Each a sequence of sentences, in order.
        length: Pieces of an example at most, with the special ones.
        random: Chooses the sentence at which an example is divided into its two parts.
    """
    room = length - SPECIAL_PER_EXAMPLE
    for document in documents:
        sentences: list[Sequence[int]] = []
        filled = 0
        for sentence in document:
            rest = sentence
            while rest:
                taken, rest = rest[: room - filled], rest[room - filled :]
                sentences.append(taken)
                filled += len(taken)
                if filled == room:
                    yield _divided(sentences, random)
                    sentences, filled = [], 0
        if filled >= max(2, SHORTEST_SHARE * room):
            yield _divided(sentences, random)


def masked_batch(
    chosen: Sequence[Example], *, length: int, vocab_size: int, generator: np.random.Generator
) -> MaskedBatch:
    """Swap the parts of half of the examples, and hide 15 % of the pieces (Devlin et al. 2018, section 3.1).

    Args:
        chosen: The examples.
        length: T.
        vocab_size: Pieces that can stand in for another.
        generator: Decides both.
    """
    shape = (len(chosen), length)
    pieces_BT = np.full(shape, PAD_ID, np.int64)
    types_BT = np.zeros(shape, np.int64)
    swapped_B = (generator.random(len(chosen)) < SWAPPED_SHARE).astype(np.int64)
    for row, (example, swapped) in enumerate(zip(chosen, swapped_B, strict=True)):
        a, b = (example.second, example.first) if swapped else (example.first, example.second)
        whole = np.concatenate(([BEGIN_ID], a, [END_ID], b, [END_ID]))
        pieces_BT[row, : len(whole)] = whole
        types_BT[row, len(a) + 2 : len(whole)] = 1
    present_BT = pieces_BT != PAD_ID
    places_M = np.flatnonzero((pieces_BT >= FIRST_WORD_ID) & (generator.random(shape) < MASKED_SHARE))
    words_M = pieces_BT.ravel()[places_M]
    fate_M = generator.random(len(places_M))
    others_M = generator.integers(FIRST_WORD_ID, vocab_size, len(places_M))
    shown_M = np.where(
        fate_M < HIDDEN_SHARE, MASK_ID, np.where(fate_M < HIDDEN_SHARE + REPLACED_SHARE, others_M, words_M)
    )
    pieces_BT.ravel()[places_M] = shown_M
    return MaskedBatch(pieces_BT, types_BT, present_BT, swapped_B, places_M, words_M)


def _divided(sentences: Sequence[Sequence[int]], random: Random) -> Example:
    """Divide at a sentence where there are several, else anywhere."""
    if len(sentences) == 1:
        cut = random.randrange(1, len(sentences[0]))
        sentences = (sentences[0][:cut], sentences[0][cut:])
        border = 1
    else:
        border = random.randrange(1, len(sentences))
    first, second = (
        np.fromiter(chain.from_iterable(part), np.int32) for part in (sentences[:border], sentences[border:])
    )
    return Example(first, second)
