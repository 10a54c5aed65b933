"""The rows of the task: of two neighbouring parts of a document their lengths, and their pieces.

    row     length of the first part, length of the second, pieces of the first, pieces of the second, zeros

A row has neither the pieces that every sample has ([CLS], [SEP]) nor anything that is drawn for a sample.
"""

# ruff: noqa: N806 - names of arrays end in their shapes

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from random import Random
from typing import Final

import numpy as np
from tokenizers import Tokenizer

from core.base.manifest import Manifest
from core.base.problems import BadInput
from core.tasks.albert.numbers import AlbertNumbers, albert_numbers
from core.tasks.cutter import Row
from core.tasks.task import Blobs
from core.tasks.tokenizers.memo import PACKED_BYTES, Packed, WordMemo
from core.tasks.tokenizers.unigram import panics_told, read_unigram
from core.text.order.documents import Document

TOKENIZER: Final = "tokenizer"
"""The blob with the tokenizer."""
SPECIAL_PER_SAMPLE: Final = 3
"""[CLS], and [SEP] after each part."""
LENGTHS: Final = 2
"""Numbers of a row before its pieces."""
SHORTEST_SHARE: Final = 0.25
"""A rest of a document that fills less than this of a sample is dropped."""


class AlbertCutter:
    """Cuts pairs of parts that are as long as possible (`core.tasks.cutter.Cutter`).

    Args:
        numbers: Say how long.
        tokenizer: Cuts text into pieces.
    """

    def __init__(self, numbers: AlbertNumbers, tokenizer: Tokenizer) -> None:
        self._room = numbers.sequence_length - SPECIAL_PER_SAMPLE
        self.width = LENGTHS + self._room
        self.numbers_max = max(numbers.vocab_size - 1, self._room)
        self.tokens = numbers.sequence_length
        self._tokenizer = tokenizer
        self._memo = WordMemo(tokenizer)

    def cut(self, documents: Iterable[Document], chance: Random) -> Iterator[Row]:
        """The pairs of each document, divided at a sentence where there are several."""
        return pairs(([*map(self._memo.pieces, document)] for document in documents), self._room, chance)

    def text_of(self, row: Row) -> str:
        """The two parts that a sample of it shows, in order or swapped."""
        first, second = (int(length) for length in row[:LENGTHS])
        held = row[LENGTHS:].tolist()
        parts = held[:first], held[first : first + second]
        with panics_told():
            return "\n\n".join(self._tokenizer.decode(part, skip_special_tokens=False) for part in parts)


def open_cutter(manifest: Manifest, blobs: Blobs) -> AlbertCutter:
    """The cutter of a manifest.

    Raises:
        BadInput: numbers or blobs cannot be used.
    """
    numbers = albert_numbers(manifest.numbers)
    return AlbertCutter(numbers, fitting_tokenizer(numbers, blobs))


def fitting_tokenizer(numbers: AlbertNumbers, blobs: Blobs) -> Tokenizer:
    """The manifest's tokenizer.

    Raises:
        BadInput: it has another number of pieces than the manifest says, or cannot be read.
    """
    tokenizer = read_unigram(blobs.read(TOKENIZER))
    if tokenizer.get_vocab_size() != numbers.vocab_size:
        raise BadInput("The tokenizer does not fit the manifest's numbers.", hint="Ask the organiser for a new one.")
    return tokenizer


def pairs(documents: Iterable[Sequence[Packed]], room: int, chance: Random) -> Iterator[Row]:
    """Rows that together hold the documents' pieces in order, without gaps except for short rests of documents.

    Args:
        documents: Each a sequence of sentences of pieces, in order.
        room: Pieces of a row at most.
        chance: Chooses the sentence at which a row is divided into its two parts, neither of which is empty; a row of
            one sentence is divided anywhere.
    """
    for sentences in documents:
        pieces_N = np.frombuffer(b"".join(sentences), np.uint16)
        ends = list(dict.fromkeys(accumulate(len(sentence) // PACKED_BYTES for sentence in sentences)))
        for start in range(0, len(pieces_N), room):
            filled = min(room, len(pieces_N) - start)
            if filled < max(2, SHORTEST_SHARE * room):
                break
            inside = ends[bisect_right(ends, start) : bisect_left(ends, start + filled)]
            first = inside[chance.randrange(len(inside))] - start if inside else chance.randrange(1, filled)
            row_W = np.zeros(LENGTHS + room, np.uint16)
            row_W[:LENGTHS] = first, filled - first
            row_W[LENGTHS : LENGTHS + filled] = pieces_N[start : start + filled]
            yield row_W
