"""What recipes make alike, held against Unicode's own tables."""

import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, normalizers

from core.tasks.tokenizers import normalisers
from core.tasks.tokenizers.unigram import RECIPES

MADE = {name: recipe.normaliser() for name, recipe in RECIPES.items()}
BENGALI = MADE[normalisers.BENGALI]
OF_BENGALI = st.sampled_from(
    "কতবযরড\u09bc\u09cd\u200c\u200d\u09be\u09c7\u09d7\u0981\u09cb।|:॥৷৤ অআী'`\u0130\u0301\u00ad\u200b"
)
TEXTS = st.text(OF_BENGALI, max_size=12) | st.text(
    OF_BENGALI | st.characters(codec="utf-8", min_codepoint=0x900, max_codepoint=0xDFF), max_size=12
)
ANY_TEXT = TEXTS | st.text(st.characters(codec="utf-8"), max_size=30)


@pytest.mark.parametrize("name", [normalisers.ALBERT, normalisers.BENGALI])
@given(text=ANY_TEXT)
def test_normalising_twice_is_normalising_once(name: str, text: str) -> None:
    once = MADE[name].normalize_str(text)
    assert MADE[name].normalize_str(once) == once


def characters() -> Iterator[str]:
    return (chr(point) for point in range(1, 0x110000) if not 0xD800 <= point < 0xE000)


@pytest.mark.parametrize("name", RECIPES)
def test_normalising_any_character_twice_is_once(name: str) -> None:
    once = MADE[name].normalize_str(" ".join(characters()))
    assert MADE[name].normalize_str(once) == once


@pytest.mark.parametrize("name", RECIPES)
@given(text=ANY_TEXT)
def test_a_sentence_is_normalised_word_by_word(name: str, text: str) -> None:
    words = text.split()
    apart = " ".join(MADE[name].normalize_str(word) for word in words)
    assert " ".join(apart.split()) == " ".join(MADE[name].normalize_str(" ".join(words)).split())


@pytest.mark.parametrize("name", RECIPES)
@given(word=TEXTS | st.text(st.characters(max_codepoint=0x17F), max_size=12))
def test_a_known_word_becomes_what_the_normaliser_makes_of_it(name: str, word: str) -> None:
    said = RECIPES[name].normalise_word(word)
    assert said is None or said == MADE[name].normalize_str(word)


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("word", ["It's", "“(so)”", "<[3.14|", "Naïve", "রাঁধাবাড়া।", "ক্ষ১২৩", "দু:খ", "``so''", "漢字"])
def test_which_words_are_known(name: str, word: str) -> None:
    unknown = {
        normalisers.PLAIN: {"漢字"},
        normalisers.ALBERT: {"Naïve", "রাঁধাবাড়া।", "ক্ষ১২৩", "দু:খ", "``so''", "漢字"},
        normalisers.BENGALI: {"<[3.14|", "দু:খ", "漢字"},
    }
    assert (RECIPES[name].normalise_word(word) is None) == (word in unknown[name])


@pytest.mark.parametrize("name", RECIPES)
def test_long_words_are_not_known(name: str) -> None:
    known = RECIPES[name].normalise_word
    assert known("x" * normalisers.KNOWN_LETTERS_MAX) is not None
    assert known("x" * (normalisers.KNOWN_LETTERS_MAX + 1)) is None


def test_nmt_is_as_the_library_has_it_but_for_joiners() -> None:
    nmt = normalizers.Nmt()
    ours = normalizers.Sequence([normalizers.Replace(Regex(pattern), said) for pattern, said in normalisers.BEFORE[:2]])
    text = "x".join(one for one in characters() if one not in "\u200c\u200d")
    assert nmt.normalize_str(text) == ours.normalize_str(text)
    assert ours.normalize_str("\u200c\u200d") == "\u200c\u200d"


@given(st.text(st.sampled_from("কখগড়ঢ়য়ািীুূৃেৈোৌ্ঁংঃৎ০১২৩ ,?abcXYZéßⅫﬁ"), max_size=30))
def test_common_text_is_nfkc_in_small_letters(text: str) -> None:
    """Against the standard library: the recipe homogenises nothing that is typed as it should be."""
    joined = unicodedata.normalize("NFKC", text)
    if any(found in joined for found in ("\u09be\u09c7", "\u09d7\u09c7", "\u09c7\u0981", "\u09cd\u09cd", "অা")):
        return  # signs in an order that no word has
    wanted = unicodedata.normalize("NFKC", joined.lower())
    assert BENGALI.normalize_str(text).split() == wanted.split()


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("\u09a1\u09bc", "\u09dc"),  # a letter with its dot, or as one
        ("\u09a2\u09bc", "\u09dd"),
        ("\u09af\u09bc", "\u09df"),
        ("\u09ac\u09bc", "র"),
        ("\u0985\u09be", "আ"),
        ("ক\u09c7\u09be", "কো"),
        ("ক\u09be\u09c7", "কো"),
        ("ক\u09c7\u09d7", "কৌ"),
        ("ক\u09d7\u09c7", "কৌ"),
        ("ক\u09c7\u0981\u09be", "কোঁ"),
        ("উত\u09cd\u200dসব", "উৎসব"),
        ("র\u200c্যাব", "র\u200d্যাব"),
        ("শ\u200dহর", "শহর"),
        ("চল্\u200c", "চল্"),
        ("ক\u09cd\u09cdষ", "ক্ষ"),
        ("দু:খ", "দুঃখ"),
        ("যাই|", "যাই।"),
        ("যাই৷", "যাই।"),
        ("যাই।।", "যাই॥"),
        ("যাই।\u00a0\u2003খাই", "যাই। খাই"),
        ("ABC", "abc"),
    ],
)
def test_what_looks_alike_becomes_alike(written: str, read: str) -> None:
    assert BENGALI.normalize_str(written) == BENGALI.normalize_str(read)
    assert BENGALI.normalize_str(read) == unicodedata.normalize("NFKC", read).lower()


@pytest.mark.parametrize("text", ["বললেন: যাই", "৩:৩০", "র\u200d্যাব", "কা:", ":ক"])
def test_what_means_something_else_stays(text: str) -> None:
    assert BENGALI.normalize_str(text) == text


def test_no_vowel_sign_is_lost() -> None:
    signs = "ািীুূৃেৈোৌ্ংঃঁ"
    words = [f"ক{sign}" for sign in signs]
    assert len({BENGALI.normalize_str(word) for word in words}) == len(signs)
    assert {MADE[normalisers.ALBERT].normalize_str(word) for word in words} == {"ক"}


def test_albert_strips_accents_and_plain_keeps_them() -> None:
    assert MADE[normalisers.ALBERT].normalize_str("``Café'' NAÏVE") == '"cafe" naive'
    assert MADE[normalisers.PLAIN].normalize_str("``Café'' NAÏVE") == "``café'' naïve"
