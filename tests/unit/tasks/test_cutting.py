"""Rows of both tasks: what the reader makes of documents, and nothing else decides them."""

import subprocess
import sys
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.tasks.albert.cutting import LENGTHS, SHORTEST_SHARE, AlbertCutter, pairs
from core.tasks.albert.numbers import AlbertNumbers
from core.tasks.gpt_cutting import Alphabet, GptCutter, GptNumbers
from core.tasks.tokenizers.unigram import FIRST_WORD_ID, pieces, train_unigram

ROOM, VOCAB = 13, 200
piece = st.integers(FIRST_WORD_ID, VOCAB - 1)
documents = st.lists(st.lists(st.lists(piece, max_size=40), max_size=10), max_size=4)


def parts(row) -> tuple[list[int], list[int]]:
    first, second = (int(n) for n in row[:LENGTHS])
    held = row[LENGTHS:].tolist()
    assert not any(held[first + second :])
    return held[:first], held[first : first + second]


def packed(document: list[list[int]]) -> list[list[bytes]]:
    return [[np.array(sentence, np.uint16).tobytes() for sentence in document]]


@given(documents, st.integers())
def test_rows_hold_the_text_in_order_without_gaps(found: list[list[list[int]]], seed: int) -> None:
    for document in found:
        whole = [p for sentence in document for p in sentence]
        cut = [parts(row) for row in pairs(packed(document), ROOM, Random(seed))]
        assert all(first and second for first, second in cut)
        joined = [p for first, second in cut for p in (*first, *second)]
        assert joined == whole[: len(joined)]
        assert len(whole) - len(joined) < max(2, SHORTEST_SHARE * ROOM)
        assert all(len(first) + len(second) == ROOM for first, second in cut[:-1])


def test_parts_meet_at_a_sentence_where_there_is_one() -> None:
    document = [[10, 11, 12, 13], [20, 21, 22], [30, 31, 32, 33, 34, 35]]
    assert {int(next(pairs(packed(document), ROOM, Random(seed)))[0]) for seed in range(50)} == {4, 7}


@pytest.mark.parametrize("seed", range(3))
def test_a_row_of_two_pieces_is_the_shortest(seed: int) -> None:
    assert list(pairs(packed([[7]]), ROOM, Random(seed))) == []
    (one,) = pairs(packed([[7, 8, 9, 10]]), ROOM, Random(seed))
    assert one[:LENGTHS].sum() == 4


TEXT = [["The first sentence is short.", "The second one has a few more words in it.", "A third."]] * 30


def test_albert_rows_follow_from_documents_and_chance() -> None:
    tokenizer = train_unigram((" ".join(document) for document in TEXT), vocab_size=64)
    cutter = AlbertCutter(AlbertNumbers(sequence_length=16, vocab_size=tokenizer.get_vocab_size()), tokenizer)
    one, two, other = (np.stack(list(cutter.cut(TEXT, Random(seed)))) for seed in (1, 1, 2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)
    assert one.shape[1] == cutter.width
    assert one.max() <= cutter.numbers_max
    first = [p for row in cutter.cut(TEXT[:1], Random(1)) for part in parts(row) for p in part]
    assert first == [p for sentence in pieces(tokenizer, TEXT[0]) for p in sentence][: len(first)]


def test_gpt_rows_need_no_chance() -> None:
    letters = ["", *sorted({letter for document in TEXT for sentence in document for letter in sentence}), "\n"]
    cutter = GptCutter(GptNumbers(length=16, alphabet=len(letters)), Alphabet(letters, len(letters)))
    one, other = (np.stack(list(cutter.cut(TEXT, Random(seed)))) for seed in (1, 2))
    assert np.array_equal(one, other)
    assert one.shape[1] == cutter.width
    text = "".join(letters[n] for n in np.concatenate([one[0, :1], one[:-1, 1:].ravel()]))
    assert "\n".join([*(sentence for document in TEXT for sentence in document), ""]).startswith(text)


def test_cutting_needs_no_torch() -> None:
    code = "import sys, core.tasks.albert.cutting, core.tasks.gpt_cutting; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
