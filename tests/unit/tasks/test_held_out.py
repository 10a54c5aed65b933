"""The sentences that people are shown."""

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from core.tasks.albert.held_out import AROUND, fill
from core.tasks.albert.masking import MaskedBatch
from core.tasks.tokenizers.unigram import BEGIN_ID, END_ID, MASK_ID, PAD_ID, SPECIAL, pieces

TEXT = "the cat sat on the mat and the dog sat on the cat while the rain fell on them all"


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """Each word is a piece, but for "rain", which is two."""
    words = [f"\u2581{word}" for word in sorted({*TEXT.split(), "ra"} - {"rain"})]
    made = Tokenizer(
        models.Unigram([*((name, 0.0) for name in SPECIAL), *((word, -1.0) for word in [*words, "in"])], 1)
    )
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    return made


def batch(tokenizer: Tokenizer, words: tuple[str, ...], hidden: tuple[int, ...]) -> MaskedBatch:
    """Two samples, of which the first hides nothing; `hidden` are numbers of whole words of the second."""
    cut = [pieces(tokenizer, [word])[0] for word in words]
    starts = np.cumsum([1, *map(len, cut)])
    length = int(starts[-1]) + 2
    rows = np.full((2, length), PAD_ID, np.int64)
    rows[0, :2] = BEGIN_ID, END_ID
    rows[1, : length - 1] = [BEGIN_ID, *(piece for word in cut for piece in word), END_ID]
    places = np.array([length + starts[word] for word in hidden], np.int64)
    meant = rows.ravel()[places].copy()
    rows.ravel()[places] = MASK_ID
    none = np.zeros((2, length), np.int64)
    return MaskedBatch(rows, none, rows != PAD_ID, none[:, 0], places, meant)


def test_a_sentence_shows_guesses_and_what_stands_there(tokenizer: Tokenizer) -> None:
    words = tuple(TEXT.split()[:6])
    made = batch(tokenizer, words, (4,))
    dog = pieces(tokenizer, ["dog"])[0][0]
    for said in (made.words_M[0], dog):
        found = fill(made, np.array([said]), tokenizer)
        assert found is not None
        assert found.plain == ("the cat sat on ", " mat")
        assert found.meant == ("the",)
        right = said == made.words_M[0]
        assert found.text == (
            "the cat sat on [the] mat" if right else f"the cat sat on [{found.said[0]}, not: the] mat"
        )


def test_a_long_text_is_cut_at_whole_words(tokenizer: Tokenizer) -> None:
    words = tuple(((TEXT + " ") * 3).split())
    found = fill(batch(tokenizer, words, (24,)), np.array([MASK_ID]), tokenizer)
    assert found is not None
    assert tuple(found.plain[0].split()) == words[16:24]  # the ninth piece is half of "rain"
    assert tuple(found.plain[1].split()) == words[25 : 25 + AROUND]


def test_nothing_hidden_is_nothing_shown(tokenizer: Tokenizer) -> None:
    assert fill(batch(tokenizer, ("the", "cat"), ()), np.array([], np.int64), tokenizer) is None
