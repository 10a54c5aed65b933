"""Batches of masked text, against plain rebuilding of each sample, and against the shares of the papers."""

import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.tasks.albert.cutting import LENGTHS
from core.tasks.albert.masking import Masking, NGrams, begins_word
from core.tasks.albert.numbers import AlbertNumbers
from core.tasks.tokenizers.unigram import BEGIN_ID, END_ID, FIRST_WORD_ID, MASK_ID, PAD_ID, train_unigram
from core.text.order.chance import key_of, stream

TEXT = "the swarm shares work and every peer gives what it can while others sleep; 17 rounds end"
WORDS = TEXT.split()
TURNED = [" ".join(WORDS[i:] + WORDS[:i]) for i in range(len(WORDS))]
TOKENIZER = train_unigram(iter(TURNED), vocab_size=100)
NUMBERS = AlbertNumbers(sequence_length=16, vocab_size=TOKENIZER.get_vocab_size())
LENGTH, VOCAB = NUMBERS.sequence_length, NUMBERS.vocab_size
ROOM = LENGTH - 3


def rows_of(count: int, *, room: int = ROOM, full: bool = False) -> np.ndarray:
    random = np.random.default_rng(1)
    rows = np.zeros((count, LENGTHS + room), np.uint16)
    for row in rows:
        filled = room if full else int(random.integers(2, room + 1))
        row[0] = random.integers(1, filled)
        row[1] = filled - row[0]
        row[LENGTHS : LENGTHS + filled] = random.integers(FIRST_WORD_ID, VOCAB, filled)
    return rows


def seeds_of(count: int) -> np.ndarray:
    return stream(key_of(b"test"), np.arange(count, dtype=np.uint64))


def masking(ngram_max: int = 1, **changes: int) -> Masking:
    return Masking(msgspec.structs.replace(NUMBERS, ngram_max=ngram_max, **changes), TOKENIZER)


@pytest.mark.parametrize("ngram_max", [1, 3])
def test_everything_but_the_hidden_words_is_as_it_was(ngram_max: int) -> None:
    rows = rows_of(300)
    batch = masking(ngram_max).batch(rows, seeds_of(300))
    restored = batch.pieces_BT.copy()
    restored.ravel()[batch.places_M] = batch.words_M
    for number, row in enumerate(rows.tolist()):
        a, b = row[LENGTHS : LENGTHS + row[0]], row[LENGTHS + row[0] : LENGTHS + row[0] + row[1]]
        if batch.swapped_B[number]:
            a, b = b, a
        expected = [BEGIN_ID, *a, END_ID, *b, END_ID]
        rest = LENGTH - len(expected)
        assert restored[number].tolist() == expected + [PAD_ID] * rest
        assert batch.types_BT[number].tolist() == [0] * (len(a) + 2) + [1] * (len(b) + 1) + [0] * rest
        assert batch.present_BT[number].tolist() == [True] * len(expected) + [False] * rest
    assert (batch.words_M >= FIRST_WORD_ID).all()
    assert batch.samples == 300


@pytest.mark.parametrize("ngram_max", [1, 2, 3, 5])
def test_the_shares_of_hidden_replaced_and_kept_words(ngram_max: int) -> None:
    rows = rows_of(20_000, full=True)
    batch = masking(ngram_max).batch(rows, seeds_of(len(rows)))
    assert abs(len(batch.places_M) / (ROOM * len(rows)) - 0.15) < 0.002 * (1 + ngram_max)
    shown = batch.pieces_BT.ravel()[batch.places_M]
    hidden, kept = np.mean(shown == MASK_ID), np.mean(shown == batch.words_M)
    others = VOCAB - FIRST_WORD_ID
    assert abs(hidden - 0.8) < 0.01
    assert abs(kept - (0.1 + 0.1 / others)) < 0.01
    replaced = shown[(shown != MASK_ID) & (shown != batch.words_M)]
    assert set(np.unique(replaced)) == set(range(FIRST_WORD_ID, VOCAB))
    assert abs(batch.swapped_B.mean() - 0.5) < 0.015


@settings(deadline=None, max_examples=30)
@given(st.permutations(range(24)), st.integers(1, 24), st.sampled_from([1, 3]))
def test_a_sample_is_the_same_in_every_batch(order: list[int], cut: int, ngram_max: int) -> None:
    rows, seeds, made = rows_of(24), seeds_of(24), masking(ngram_max)
    whole = made.batch(rows, seeds)
    answers = np.full(whole.pieces_BT.size, -1)
    answers[whole.places_M] = whole.words_M
    answers = answers.reshape(whole.pieces_BT.shape)
    for part in (np.array(order[:cut]), np.array(order[cut:], np.int64)):
        batch = made.batch(rows[part], seeds[part])
        assert np.array_equal(batch.pieces_BT, whole.pieces_BT[part])
        assert np.array_equal(batch.types_BT, whole.types_BT[part])
        assert np.array_equal(batch.swapped_B, whole.swapped_B[part])
        said = np.full(batch.pieces_BT.size, -1)
        said[batch.places_M] = batch.words_M
        assert np.array_equal(said.reshape(batch.pieces_BT.shape), answers[part])


PROGRAM = """
import sys, msgspec, numpy as np
from pathlib import Path
from tokenizers import Tokenizer
from core.tasks.albert.masking import Masking
from core.tasks.albert.numbers import AlbertNumbers
folder = Path(sys.argv[1])
made = Masking(AlbertNumbers(**msgspec.json.decode(sys.argv[2])), Tokenizer.from_file(str(folder / "tokenizer")))
batch = made.batch(np.load(folder / "rows.npy")[::-1], np.load(folder / "seeds.npy")[::-1])
np.save(folder / "pieces.npy", batch.pieces_BT[::-1])
"""


def test_another_process_makes_the_same_samples(tmp_path: Path) -> None:
    TOKENIZER.save(str(tmp_path / "tokenizer"))
    np.save(tmp_path / "rows.npy", rows_of(50))
    np.save(tmp_path / "seeds.npy", seeds_of(50))
    numbers = msgspec.json.encode(msgspec.structs.replace(NUMBERS, ngram_max=3)).decode()
    subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path), numbers], check=True)
    assert np.array_equal(np.load(tmp_path / "pieces.npy"), masking(3).batch(rows_of(50), seeds_of(50)).pieces_BT)


def renewed(lengths: list[int], left: int) -> list[bool]:
    """The words that n-grams cover, one after the other."""
    covered = []
    for length in lengths:
        left = left or length
        covered.append(left > 0)
        left = max(0, left - 1)
    return covered


@given(st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=40), st.sampled_from([2, 3, 10]))
def test_ngrams_cover_what_a_plain_walk_covers(draws: list[float], longest: int) -> None:
    ngrams, drawn = NGrams(longest), np.array([draws])
    assert ngrams.covered(drawn, np.array([0.9999])).tolist() == [renewed(ngrams.lengths(drawn)[0].tolist(), 0)]


@pytest.mark.parametrize("longest", [2, 3, 5])
def test_ngrams_have_their_lengths_and_their_share_at_every_word(longest: int) -> None:
    """Chi-square of the lengths at a false alarm of one in a million; the share of each word within five deviations."""
    from scipy import stats

    ngrams, random = NGrams(longest), np.random.default_rng(longest)
    draws = random.random((40_000, 30))
    lengths = ngrams.lengths(draws)
    counts = np.bincount(lengths.ravel(), minlength=longest + 1)[1:]
    weights = 1 / np.arange(1, longest + 1)
    expected = counts.sum() * weights / weights.sum()
    assert stats.chisquare(counts, expected).statistic < stats.chi2.ppf(1 - 1e-6, longest - 1)
    share = ngrams.covered(draws, random.random(len(draws))).mean(0)
    assert np.abs(share - 0.15).max() < 5 * np.sqrt(0.15 * 0.85 / len(draws))


def test_ngrams_are_of_whole_words() -> None:
    rows = rows_of(4000, full=True)
    batch = masking(3).batch(rows, seeds_of(len(rows)))
    chosen = np.zeros(batch.pieces_BT.size, np.bool_)
    chosen[batch.places_M] = True
    restored = batch.pieces_BT.ravel().copy()
    restored[batch.places_M] = batch.words_M
    words = [begins_word(TOKENIZER.id_to_token(int(piece))) for piece in range(VOCAB)]
    for place in np.flatnonzero(restored >= FIRST_WORD_ID).tolist():
        if restored[place - 1] >= FIRST_WORD_ID and not words[restored[place]]:
            assert chosen[place] == chosen[place - 1]


def test_marks_and_digits_are_words_and_vowel_signs_are_not() -> None:
    assert all(map(begins_word, ["\u2581the", ".", "7", "\u0964", "\u09e7"]))
    assert not any(map(begins_word, ["ing", "\u09be", "\u0995"]))
