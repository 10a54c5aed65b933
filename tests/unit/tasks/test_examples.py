from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.tasks.albert.examples import SHORTEST_SHARE, SPECIAL_PER_EXAMPLE, Example, examples, masked_batch
from core.tasks.tokenizers.unigram import BEGIN_ID, END_ID, FIRST_WORD_ID, MASK_ID, PAD_ID

LENGTH, VOCAB = 16, 200
piece = st.integers(FIRST_WORD_ID, VOCAB - 1)
documents = st.lists(st.lists(st.lists(piece, max_size=40), max_size=10), max_size=4)


@given(documents, st.integers())
def test_examples_hold_the_text_in_order_without_gaps(found: list[list[list[int]]], seed: int) -> None:
    room = LENGTH - SPECIAL_PER_EXAMPLE
    for document in found:
        whole = [p for sentence in document for p in sentence]
        cut = list(examples([document], LENGTH, Random(seed)))
        assert all(len(e.first) and len(e.second) for e in cut)
        joined = [int(p) for e in cut for p in (*e.first, *e.second)]
        assert joined == whole[: len(joined)]
        assert len(whole) - len(joined) < max(2, SHORTEST_SHARE * room)
        assert all(len(e.first) + len(e.second) == room for e in cut[:-1])


def test_parts_meet_at_a_sentence_where_there_is_one() -> None:
    document = [[10, 11, 12, 13], [20, 21, 22], [30, 31, 32, 33, 34, 35]]
    borders = {len(next(examples([document], LENGTH, Random(seed))).first) for seed in range(50)}
    assert borders == {4, 7}


def fixed(count: int) -> list[Example]:
    random = np.random.default_rng(1)
    first, second = (random.integers(FIRST_WORD_ID, VOCAB, (count, 6), dtype=np.int32) for _ in range(2))
    return [Example(a, b) for a, b in zip(first, second, strict=True)]


def test_the_shares_of_hidden_replaced_and_kept_words() -> None:
    chosen = fixed(20_000)
    batch = masked_batch(chosen, length=LENGTH, vocab_size=VOCAB, generator=np.random.default_rng(0))
    words = 12 * len(chosen)
    guessed = len(batch.places_M)
    assert abs(guessed / words - 0.15) < 0.003
    shown = batch.pieces_BT.ravel()[batch.places_M]
    hidden, kept = np.mean(shown == MASK_ID), np.mean(shown == batch.words_M)
    others = VOCAB - FIRST_WORD_ID
    assert abs(hidden - 0.8) < 0.01
    assert abs(kept - (0.1 + 0.1 / others)) < 0.01
    replaced = shown[(shown != MASK_ID) & (shown != batch.words_M)]
    assert replaced.min() >= FIRST_WORD_ID
    assert replaced.max() < VOCAB
    assert abs(batch.swapped_B.mean() - 0.5) < 0.015


def test_everything_but_the_hidden_words_is_as_it_was() -> None:
    """Against a plain rebuilding of each row."""
    chosen = [*fixed(40), Example(np.array([9], np.int32), np.array([8, 7], np.int32))]
    batch = masked_batch(chosen, length=LENGTH, vocab_size=VOCAB, generator=np.random.default_rng(2))
    restored = batch.pieces_BT.copy()
    restored.ravel()[batch.places_M] = batch.words_M
    for row, example in enumerate(chosen):
        a, b = list(example.first), list(example.second)
        if batch.swapped_B[row]:
            a, b = b, a
        expected = [BEGIN_ID, *a, END_ID, *b, END_ID]
        rest = LENGTH - len(expected)
        assert list(restored[row]) == expected + [PAD_ID] * rest
        assert list(batch.types_BT[row]) == [0] * (len(a) + 2) + [1] * (len(b) + 1) + [0] * rest
        assert list(batch.present_BT[row]) == [True] * len(expected) + [False] * rest
    assert batch.samples == 41


def test_the_same_generator_gives_the_same_batch() -> None:
    one, two, other = (
        masked_batch(fixed(50), length=LENGTH, vocab_size=VOCAB, generator=np.random.default_rng(s)) for s in (1, 1, 2)
    )
    assert np.array_equal(one.pieces_BT, two.pieces_BT)
    assert not np.array_equal(one.pieces_BT, other.pieces_BT)


@pytest.mark.parametrize("seed", range(3))
def test_an_example_of_two_pieces_is_the_shortest(seed: int) -> None:
    assert list(examples([[[7]]], LENGTH, Random(seed))) == []
    (one,) = examples([[[7, 8, 9, 10]]], LENGTH, Random(seed))
    assert len(one.first) + len(one.second) == 4
