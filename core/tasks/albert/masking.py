"""From rows to batches: parts of a text in order or swapped, with words to be guessed.

All that is drawn for a sample follows from its seed: it is the same in every batch that the sample is in.

Letters of shapes: B samples, T pieces per sample, W words per sample, R numbers of a row (`core.tasks.albert.cutting`),
M places to be guessed in the whole batch, V pieces in the vocabulary.
"""

# ruff: noqa: N803, N806, N815 - names of arrays end in their shapes

import unicodedata
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from core.tasks.albert.cutting import LENGTHS
from core.tasks.albert.numbers import MASKED_SHARE, SWAPPED_SHARE, AlbertNumbers
from core.tasks.tokenizers.unigram import BEGIN_ID, END_ID, FIRST_WORD_ID, MASK_ID, PAD_ID
from core.text.order.chance import Seeds, uniform

HIDDEN_SHARE: Final = 0.8
REPLACED_SHARE: Final = 0.1
WORD_BEGINS: Final = "\u2581"
"""What a piece begins with that begins a word."""


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


class Masking:
    """Swaps the parts of half of the samples, and hides 15 % of the pieces (Devlin et al. 2018, section 3.1).

    Where `ngram_max` is more than 1, n-grams of whole words are hidden instead of single pieces, each n with a
    probability in proportion to 1/n (Lan et al. 2019, section 4.1); they begin so often that the share stays.

    Args:
        numbers: Lengths.
        tokenizer: Says which pieces begin a word.
    """

    def __init__(self, numbers: AlbertNumbers, tokenizer: Tokenizer) -> None:
        self._length = numbers.sequence_length
        self._vocab_size = numbers.vocab_size
        self._ngrams = NGrams(numbers.ngram_max)
        words = (begins_word(tokenizer.id_to_token(piece) or "") for piece in range(numbers.vocab_size))
        self._begins_V = np.fromiter(words, np.bool_, numbers.vocab_size)

    def batch(self, rows_BR: NDArray[np.integer], seeds_B: Seeds) -> MaskedBatch:
        """The batch of some rows.

        A sample's draws are: 0 its order; 1 to T which pieces or words; T + 1 to 2 T what they become; 2 T + 1 to 3 T
        which other pieces; 3 T + 1 the n-gram that reaches into its beginning.

        Args:
            rows_BR: As they were cut.
            seeds_B: Seeds of the samples.
        """
        length, seeds_B1 = self._length, seeds_B[:, None]
        swapped_B = uniform(seeds_B, np.array(0)) < SWAPPED_SHARE
        pieces_BT, types_BT, present_BT = self._laid_out(rows_BR, swapped_B)
        words_BT = pieces_BT >= FIRST_WORD_ID
        draws_BT = uniform(seeds_B1, np.arange(1, length + 1))
        if self._ngrams.longest == 1:
            chosen_BT = words_BT & (draws_BT < MASKED_SHARE)
        else:
            begins_BT = words_BT & (self._begins_V[pieces_BT] | ~np.roll(words_BT, 1, axis=1))
            covered_BW = self._ngrams.covered(draws_BT, uniform(seeds_B, np.array(3 * length + 1)))
            numbers_BT = np.maximum(begins_BT.cumsum(axis=1) - 1, 0)
            chosen_BT = words_BT & np.take_along_axis(covered_BW, numbers_BT, axis=1)
        places_M = np.flatnonzero(chosen_BT)
        words_M = pieces_BT.ravel()[places_M]
        samples_M, at_M = np.divmod(places_M, length)
        fate_M = uniform(seeds_B[samples_M], length + 1 + at_M)
        others = uniform(seeds_B[samples_M], 2 * length + 1 + at_M) * (self._vocab_size - FIRST_WORD_ID)
        replaced_M = np.where(fate_M < HIDDEN_SHARE + REPLACED_SHARE, FIRST_WORD_ID + others.astype(np.int64), words_M)
        pieces_BT.ravel()[places_M] = np.where(fate_M < HIDDEN_SHARE, MASK_ID, replaced_M)
        return MaskedBatch(pieces_BT, types_BT, present_BT, swapped_B.astype(np.int64), places_M, words_M)

    def _laid_out(
        self, rows_BR: NDArray[np.integer], swapped_B: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Pieces, types and what is present: [CLS], one part, [SEP], the other, [SEP], padding."""
        rows_BR = rows_BR.astype(np.int64)
        first_B1, second_B1, swapped_B1 = rows_BR[:, :1], rows_BR[:, 1:2], swapped_B[:, None]
        a_B1, b_B1 = np.where(swapped_B1, (second_B1, first_B1), (first_B1, second_B1))
        at_T = np.arange(self._length)
        end_B1 = a_B1 + b_B1 + 2
        types_BT = (at_T >= a_B1 + 2) & (at_T <= end_B1)
        from_BT = at_T - np.where(types_BT, a_B1 + 2, 1) + np.where(types_BT ^ swapped_B1, first_B1, 0)
        held_BT = np.take_along_axis(rows_BR, np.clip(LENGTHS + from_BT, 0, rows_BR.shape[1] - 1), axis=1)
        pieces_BT = np.where(at_T < end_B1, held_BT, PAD_ID)
        pieces_BT[:, 0] = BEGIN_ID
        pieces_BT[(at_T == a_B1 + 1) | (at_T == end_B1)] = END_ID
        return pieces_BT, types_BT.astype(np.int64), at_T <= end_B1


class NGrams:
    """Chooses words in n-grams that never overlap: a renewal process, which has begun before the first word.

    Args:
        longest: The largest n.
    """

    def __init__(self, longest: int) -> None:
        self.longest = longest
        weights_N = 1 / np.arange(1, longest + 1)
        self.shares_N = weights_N / weights_N.sum()
        """Part of the n-grams that has each length n, from 1 on."""
        self._mean = float(longest / weights_N.sum())
        self.begins = MASKED_SHARE / ((1 - MASKED_SHARE) * self._mean + MASKED_SHARE)
        """The probability that an n-gram begins at a word that no n-gram before it covers."""

    def lengths(self, draws_BW: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the n of the n-gram that begins at each word, if none covers it; 0: none begins."""
        limits_N = self.begins * self.shares_N.cumsum()
        limits_N[-1] = self.begins
        return np.where(draws_BW < self.begins, np.searchsorted(limits_N, draws_BW, side="right") + 1, 0)

    def covered(self, draws_BW: NDArray[np.float64], before_B: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether an n-gram covers each word.

        Args:
            draws_BW: One for each word.
            before_B: One for each sample: how far an n-gram that began before its first word reaches into it.
        """
        lengths_BW = self.lengths(draws_BW)
        reaches_N = self.shares_N[::-1].cumsum()[::-1] * (MASKED_SHARE / self._mean)
        left_B = np.where(
            before_B < reaches_N[1:].sum(), np.searchsorted(reaches_N[1:].cumsum(), before_B, side="right") + 1, 0
        )
        covered_WB = np.empty(lengths_BW.shape[::-1], np.bool_)
        for word, begun_B in enumerate(lengths_BW.T):
            left_B = np.where(left_B > 0, left_B, begun_B)
            covered_WB[word] = left_B > 0
            left_B -= covered_WB[word]
        return covered_WB.T


def begins_word(piece: str) -> bool:
    """Whether a piece begins a word, or stands alone as punctuation marks and digits do."""
    return piece.startswith(WORD_BEGINS) or unicodedata.category(piece[:1] or "?")[0] in "PSN"
