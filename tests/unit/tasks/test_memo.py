import json
from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from core.base.problems import BadInput
from core.tasks.tokenizers import memo
from core.tasks.tokenizers.memo import WordMemo
from core.tasks.tokenizers.unigram import RECIPES, SPECIAL, pieces, read_unigram, train_unigram

TEXTS = [f"Naïve cafés, {n} of them; it's “said” (so) that বাংলা র‍্যাব দু:খ এক। দুই" for n in range(300)]
STRANGE = "\x00\x01\u00a8\u00ad\u0301\u200b\u200c\u200d\u2581\u3000\ufeff\ufffd\u1e9eΣİ¨ª½ﬁ́̈"
LETTERS_DRAWN = st.characters(exclude_categories=["Cs"]) | st.sampled_from(
    "abzAZäÄéßÿŸŒœ09.,'\u2018\u2019\u201c\u201d\u2013\u2014|<[" + STRANGE
)
CHOSEN = [*SPECIAL, "a[MASK]b", "word", "Word,", "১২৩", "x" * 70, "``quoted''", "|", "।।"]
BENGALI_DRAWN = st.characters(min_codepoint=0x980, max_codepoint=0x9FF) | st.sampled_from(
    "কতবযরডঢ\u09bc\u09cd\u09be\u09c7\u09d7\u0981়য়ড়োৌঅ।॥|:\u200c\u200d১৯a,"
)
WORDS = st.text(BENGALI_DRAWN, max_size=8) | st.text(LETTERS_DRAWN, max_size=8) | st.sampled_from(CHOSEN)
SENTENCES = st.lists(WORDS, max_size=8).map(" ".join)


@cache
def tokenizer_of(recipe: str) -> Tokenizer:
    return train_unigram(iter(TEXTS), recipe=recipe, vocab_size=300)


def read(known: WordMemo, texts: list[str]) -> list[list[int]]:
    return [np.frombuffer(known.pieces(text), np.uint16).tolist() for text in texts]


@cache
def memo_of(recipe: str) -> WordMemo:
    return WordMemo(tokenizer_of(recipe))


@pytest.mark.parametrize("recipe", RECIPES)
@settings(max_examples=200, deadline=None)
@given(texts=st.lists(SENTENCES, max_size=4))
@example(texts=["a \x00", "\x00 a", " a", "a ", "", "a  b", "x \u2581y", "a\u3000b c", "x [MASK] y", "¨ ¨", "a ́b"])
def test_a_memo_cuts_as_its_tokenizer(recipe: str, texts: list[str]) -> None:
    for known in (memo_of(recipe), memo_of(recipe), WordMemo(tokenizer_of(recipe))):
        assert read(known, texts) == pieces(tokenizer_of(recipe), texts)


@settings(max_examples=100, deadline=None)
@given(texts=st.lists(SENTENCES, max_size=4))
def test_a_tokenizer_of_another_kind_is_followed(texts: list[str]) -> None:
    found = WordMemo(strange_tokenizer())
    assert read(found, texts) == pieces(strange_tokenizer(), texts)


@cache
def strange_tokenizer() -> Tokenizer:
    """One whose pieces go over white space, and that drops commas at ends."""
    said = json.loads(tokenizer_of("plain").to_str())
    tokenizer = Tokenizer(models.Unigram([tuple(each) for each in said["model"]["vocab"]] + [("a b", -1.0)], 1))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Strip(), normalizers.Replace(",", " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(split=False)
    return tokenizer


def test_only_so_many_words_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memo, "WORDS_MAX", 50)
    tokenizer = tokenizer_of("plain")
    found = WordMemo(tokenizer)
    for number in range(100):
        texts = [f"{number} a word{number} {number * 7} বাংলা{number}"]
        assert read(found, texts) == pieces(tokenizer, texts)
        assert len(found) <= 50


def test_a_long_word_is_not_remembered() -> None:
    found = memo_of("plain")
    before = len(found)
    texts = ["x" * 65, "বা" * 40]
    assert read(found, texts) == pieces(tokenizer_of("plain"), texts)
    assert len(found) == before


@pytest.mark.parametrize("encode_special_tokens", [False, True])
def test_words_with_another_special_piece_are_tried(*, encode_special_tokens: bool) -> None:
    tokenizer = Tokenizer.from_str(tokenizer_of("plain").to_str())
    tokenizer.add_tokens(["many"])
    tokenizer.encode_special_tokens = encode_special_tokens
    texts = ["many of them, manyfold", "how many"]
    assert read(WordMemo(tokenizer), texts) == pieces(tokenizer, texts) != pieces(tokenizer_of("plain"), texts)


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_special_piece_that_a_text_says_is_followed(recipe: str) -> None:
    tokenizer = Tokenizer.from_str(tokenizer_of(recipe).to_str())
    assert not tokenizer.encode_special_tokens
    texts = ["a[MASK]b <pad> \uff1cpad\uff1e বাংলা[CLS]"]
    assert read(WordMemo(tokenizer), texts) == pieces(tokenizer, texts) != pieces(tokenizer_of(recipe), texts)


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_letter_is_cut_as_by_the_tokenizer(recipe: str) -> None:
    letters = [chr(code) for code in (*range(33, 0x250), 0x964, 0x965, *range(0x980, 0xA00), 0x200C, 0x200D)]
    texts = [f"{one} {one}a a{one} A{one}b{one}{one} ক{one} {one}ক ক{one}ক ক\u09cd{one} ৯{one}।" for one in letters]
    assert read(WordMemo(tokenizer_of(recipe)), texts) == pieces(tokenizer_of(recipe), texts)


@pytest.mark.parametrize("recipe", ["plain", "bengali"])
def test_bengali_pairs_are_cut_as_by_the_tokenizer(recipe: str) -> None:
    letters = [chr(code) for code in (0x964, 0x3A, 0x7C, *range(0x981, 0x9F2), 0x200C, 0x200D)]
    texts = [" ".join(f"{one}{other} ক{one}{other}ক" for other in letters) for one in letters]
    assert read(WordMemo(tokenizer_of(recipe)), texts) == pieces(tokenizer_of(recipe), texts)


def test_a_word_that_becomes_two_is_remembered() -> None:
    found = WordMemo(tokenizer_of("plain"))
    assert found.pieces("a প্রগল্\u200cভা b") == found.pieces("a প্রগল্ ভা b")
    assert len(found) == 5


def test_a_panic_of_the_library_is_a_sentence(capfd: pytest.CaptureFixture[str]) -> None:
    described = json.loads(tokenizer_of("plain").to_str())
    described["normalizer"] = {"type": "Replace", "pattern": {"Regex": "(a|aa)+$"}, "content": "x"}
    hostile = read_unigram(json.dumps(described).encode())
    memo = WordMemo(hostile)
    for read_all in (memo.pieces, lambda text: pieces(hostile, [text])):
        with pytest.raises(BadInput, match="fails at this text"):
            read_all("a" * 40 + "b")
    assert "panicked" in capfd.readouterr().err
