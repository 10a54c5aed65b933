"""The held-out text: the batches that everybody measures with, and the sentences that people are shown."""

# ruff: noqa: N803, N806 - names of arrays end in their shapes

import random
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from core.api.score import Filled
from core.base.problems import BadInput
from core.data.documents import Document
from core.tasks.albert.examples import MaskedBatch, examples, masked_batch
from core.tasks.albert.numbers import AlbertNumbers
from core.tasks.tokenizers.unigram import FIRST_WORD_ID, MASK_ID, pieces

SEED: Final = 0
SHOWN: Final = 3
"""Sentences that people are shown."""
AROUND: Final = 9
"""Pieces of text shown on each side of a sentence's first blank."""


def measuring_batches(held_out: list[Document], tokenizer: Tokenizer, numbers: AlbertNumbers) -> list[MaskedBatch]:
    """The same batches, with the same places to be guessed, on all computers.

    Args:
        held_out: Documents that nobody learns from.
        tokenizer: Cuts them into pieces.
        numbers: How long a sample is, and how many there are at most.

    Raises:
        BadInput: there is not one place to be guessed.
    """
    chance = random.Random(SEED)  # noqa: S311 - the same places for everybody
    cut = examples((pieces(tokenizer, document) for document in held_out), numbers.sequence_length, chance)
    stream = islice(cut, numbers.held_out)
    generator = np.random.default_rng(SEED)
    batches = []
    while chosen := list(islice(stream, numbers.micro_batch)):
        batches.append(
            masked_batch(chosen, length=numbers.sequence_length, vocab_size=numbers.vocab_size, generator=generator)
        )
    if not sum(len(batch.words_M) for batch in batches):
        raise BadInput("The held-out text is too short to measure with.", hint="Give more text.")
    return batches


def fill(batch: MaskedBatch, said_M: NDArray[np.int64], tokenizer: Tokenizer) -> Filled | None:
    """A hidden piece of the first sample that has one, with the text around it and the other blanks there.

    Args:
        batch: Of the held-out text.
        said_M: What a model says at its places.
        tokenizer: Has cut the text.

    Returns:
        The text of the blank that has most text around it; None where nothing is hidden.
    """
    hidden_M = batch.places_M[batch.pieces_BT.flat[batch.places_M] == MASK_ID]
    if not hidden_M.size:
        return None
    row, length = hidden_M[0] // batch.pieces_BT.shape[1], batch.pieces_BT.shape[1]
    places = [place for place in hidden_M - row * length if 0 <= place < length]
    shown = max((_around(batch.pieces_BT[row], place, tokenizer) for place in places), key=len)
    meant = dict(zip(batch.places_M - row * length, zip(batch.words_M, said_M, strict=True), strict=True))
    plain, said, right = [""], [], []
    for place in shown:
        stands, fills = meant.get(place, (batch.pieces_BT[row, place], None))
        word = _text(tokenizer, stands)
        if fills is None:
            plain[-1] += word
        else:
            plain[-1] += " " * word.startswith(" ")
            said.append(_text(tokenizer, fills).strip())
            right.append(word.strip())
            plain.append("")
    return Filled((plain[0].lstrip(), *plain[1:]), tuple(said), tuple(right))


def _around(pieces_T: NDArray[np.int64], place: int, tokenizer: Tokenizer) -> range:
    """Whole words around a place, as far as text goes and not farther than `AROUND` on each side."""
    start = stop = int(place)
    while start > 0 and place - start < AROUND and _is_text(pieces_T[start - 1]):
        start -= 1
    while stop + 1 < len(pieces_T) and stop - place < AROUND and _is_text(pieces_T[stop + 1]):
        stop += 1
    while start < place and not _text(tokenizer, pieces_T[start]).startswith(" "):
        start += 1
    while stop > place and stop + 1 < len(pieces_T) and _text(tokenizer, pieces_T[stop + 1])[:1].isalpha():
        stop -= 1
    return range(start, stop + 1)


def _is_text(piece: np.int64) -> bool:
    return bool(piece >= FIRST_WORD_ID or piece == MASK_ID)


def _text(tokenizer: Tokenizer, piece: np.int64) -> str:
    """A piece as it stands in a text: one that begins a word has a space before it."""
    return str(tokenizer.id_to_token(int(piece))).replace("\u2581", " ")
