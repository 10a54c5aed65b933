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
from core.tasks.albert.cutting import AlbertCutter
from core.tasks.albert.masking import MaskedBatch, Masking
from core.tasks.albert.numbers import AlbertNumbers
from core.tasks.tokenizers.unigram import FIRST_WORD_ID, MASK_ID
from core.text.order.chance import key_of, stream
from core.text.order.documents import Document

SEED: Final = 0
SHOWN: Final = 3
"""Sentences that people are shown."""
PIECE_MAX: Final = 40
"""Letters of a piece that are shown: the tokenizer is an organiser's."""
AROUND: Final = 9
"""Pieces of text shown on each side of a sentence's blank."""


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
    rows = list(islice(AlbertCutter(numbers, tokenizer).cut(held_out, chance), numbers.held_out))
    seeds = stream(key_of(b"held out"), np.arange(len(rows), dtype=np.uint64))
    masking = Masking(numbers, tokenizer)
    batches = [
        masking.batch(np.stack(rows[at : at + numbers.micro_batch]), seeds[at : at + numbers.micro_batch])
        for at in range(0, len(rows), numbers.micro_batch)
    ]
    if not sum(len(batch.words_M) for batch in batches):
        raise BadInput("The held-out text is too short to measure with.", hint="Give more text.")
    return batches


def fill(batch: MaskedBatch, said_M: NDArray[np.int64], tokenizer: Tokenizer) -> Filled | None:
    """The hidden word that has most words around it, with these and with the other blanks among them.

    Args:
        batch: Batch of the held-out text.
        said_M: What a model says at its places.
        tokenizer: Has cut the text.

    Returns:
        The text; None where nothing is hidden.
    """
    stands_N = batch.pieces_BT.ravel().copy()
    hidden = [place for place in batch.places_M if stands_N[place] == MASK_ID]
    stands_N[batch.places_M] = batch.words_M
    words = [_text(tokenizer, piece) if piece >= FIRST_WORD_ID else "" for piece in stands_N]
    guesses = dict(zip(batch.places_M, said_M, strict=True))
    whole = [place for place in hidden if words[place][:1] == " " and not words[place + 1][:1].isalnum()]
    if not hidden:
        return None
    around = (_around(words, int(place)) for place in whole or hidden)
    shown = max(around, key=lambda places: sum(words[place].strip().isalpha() for place in places))
    plain, said, meant = [""], [], []
    for place in shown:
        if place not in guesses:
            plain[-1] += words[place]
            continue
        plain[-1] += " " * words[place].startswith(" ")
        said.append(_text(tokenizer, guesses[place]).strip())
        meant.append(words[place].strip())
        plain.append("")
    return Filled((plain[0].lstrip(), *plain[1:]), tuple(said), tuple(meant))


def _around(words: list[str], place: int) -> range:
    """Whole words around a place, as far as text goes and not farther than `AROUND` pieces on each side."""
    start = stop = place
    while place - start < AROUND and words[start - 1]:
        start -= 1
    while stop - place < AROUND and words[stop + 1]:
        stop += 1
    while start < place and not words[start].startswith(" "):
        start += 1
    while stop > place and words[stop + 1][:1].isalnum():
        stop -= 1
    return range(start, stop + 1)


def _text(tokenizer: Tokenizer, piece: np.int64) -> str:
    """A piece as it stands in a text: one that begins a word has a space before it."""
    return str(tokenizer.id_to_token(int(piece))).replace("\u2581", " ")[:PIECE_MAX]
