import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.problems import BadInput
from core.text.order.filters import SCRIPTS, Value, read_filters, script_share

BENGALI, ENGLISH = "আমি বাংলায় গান গাই।", "I sing in English."


def kept(filters: dict[str, Value], text: str = ENGLISH, **row: object) -> bool:
    return read_filters(filters).sieve().keeps(text, row)


@pytest.mark.parametrize(
    ("filters", "text", "wanted"),
    [
        ({}, "", True),
        ({"characters_least": 3}, "abc", True),
        ({"characters_least": 3}, "ab", False),
        ({"characters_most": 3}, "abc", True),
        ({"characters_most": 3}, "abcd", False),
        ({"words_least": 2}, " one two ", True),
        ({"words_least": 3}, " one two ", False),
        ({"words_most": 1}, "one two", False),
        ({"language": "bn"}, BENGALI, True),
        ({"language": "bn"}, ENGLISH, False),
        ({"language": "en"}, ENGLISH, True),
        ({"language": "bn"}, BENGALI + ENGLISH, False),
        ({"language": "bn", "language_least": 0.3}, BENGALI + ENGLISH, True),
        ({"language": "bn"}, "123 !?", False),
        ({"language": "bn", "language_least": 0}, "123 !?", True),
    ],
)
def test_texts_are_kept_by_length_and_script(filters: dict[str, Value], text: str, *, wanted: bool) -> None:
    assert kept(filters, text) == wanted


@pytest.mark.parametrize(
    ("filters", "row", "wanted"),
    [
        ({"is:NSFW": "UNLIKELY"}, {"NSFW": "UNLIKELY"}, True),
        ({"is:NSFW": "UNLIKELY"}, {"NSFW": "LIKELY"}, False),
        ({"is:NSFW": "UNLIKELY"}, {}, False),
        ({"is:stars": 5}, {"stars": 5.0}, True),
        ({"is:stars": 5}, {"stars": "5"}, True),
        ({"is:stars": 1}, {"stars": True}, False),
        ({"is:good": True}, {"good": True}, True),
        ({"is:good": True}, {"good": 1}, False),
        ({"least:similarity": 0.3}, {"similarity": 0.3}, True),
        ({"least:similarity": 0.3}, {"similarity": 0.29}, False),
        ({"least:similarity": 0.3}, {"similarity": None}, False),
        ({"least:similarity": 0.3}, {"similarity": float("nan")}, False),
        ({"least:similarity": 0.3, "most:similarity": 0.4}, {"similarity": "0.35"}, True),
        ({"least:similarity": 0.3, "most:similarity": 0.4}, {"similarity": 0.5}, False),
        ({"most:similarity": 0.4}, {"similarity": "none"}, False),
        ({"aspect_most": 2}, {"width": 100, "height": 200}, True),
        ({"aspect_most": 2}, {"width": 201, "height": 100}, False),
        ({"aspect_most": 2}, {"width": 0, "height": 0}, False),
        ({"aspect_most": 2}, {"width": 10}, False),
        ({"aspect_most": 2, "aspect_columns": "W,H"}, {"W": 1, "H": 2}, True),
    ],
)
def test_rows_are_kept_by_their_columns(filters: dict[str, Value], row: dict[str, object], *, wanted: bool) -> None:
    assert kept(filters, **row) == wanted


def test_filters_of_the_paper_name_their_columns() -> None:
    """S002: captions of 3 characters at least, NSFW "UNLIKELY", sides at most 2 to 1."""
    laion = read_filters(
        {"characters_least": 3, "is:NSFW": "UNLIKELY", "aspect_most": 2, "aspect_columns": "WIDTH,HEIGHT"}
    )
    assert laion.columns == {"NSFW", "WIDTH", "HEIGHT"}
    assert laion.allow("cat", {"NSFW": "UNLIKELY", "WIDTH": 256, "HEIGHT": 512})
    assert not laion.allow("ox", {"NSFW": "UNLIKELY", "WIDTH": 256, "HEIGHT": 256})
    assert read_filters({"characters_least": 3}).columns == frozenset()


def test_duplicates_are_left_out_within_a_sieve() -> None:
    filters = read_filters({"no_duplicates": True, "characters_least": 2})
    sieve = filters.sieve()
    assert [sieve.keeps(text) for text in ("aa", "b", "bb", "aa", "bb", "\ud800x", "\ud800x")] == [
        *(True, False, True, False, False),
        *(True, False),
    ]
    assert filters.sieve().keeps("aa")
    twice = read_filters({}).sieve()
    assert twice.keeps("aa")
    assert twice.keeps("aa")


@pytest.mark.parametrize(
    ("filters", "says"),
    [
        ({"characters_lest": 3}, "Allowed are: characters_least, .*is:COLUMN"),
        ({"between:width": 3}, "is:COLUMN, least:COLUMN or most:COLUMN"),
        ({"least:": 3}, "is unknown"),
        ({"characters_least": "3"}, "characters_least must be a whole number"),
        ({"characters_least": True}, "characters_least must be a whole number"),
        ({"characters_least": -1}, "characters_least must be a whole number from 0"),
        ({"language": "xx"}, "language must be one of am, ar"),
        ({"language_least": 2}, "language_least must be a number from 0 to 1"),
        ({"least:width": "wide"}, "must be a number, not 'wide'"),
        ({"most:width": float("inf")}, "must be a number"),
        ({"aspect_most": 0.5}, "aspect_most must be a number from 1"),
        ({"aspect_columns": "a"}, "two columns"),
        ({"no_duplicates": 1}, "no_duplicates must be true or false"),
    ],
)
def test_what_is_wrong_with_a_filter_is_said(filters: dict[str, Value], says: str) -> None:
    with pytest.raises(BadInput, match=says) as caught:
        read_filters(filters, where="found.toml: [data.filters] ")
    assert caught.value.message.startswith("found.toml: [data.filters] ")


@given(st.text(max_size=40), st.sampled_from(["bn", "en", "hi", "ru", "ja", "ar"]))
def test_script_share_counts_letters_one_by_one(text: str, language: str) -> None:
    """Against the same share by a loop over the text's letters (category L and other numerals are `isalpha`)."""
    letters = [one for one in text if one.isalnum() and not (one.isdigit() or one.isdecimal())]
    letters = [one for one in letters if unicodedata.category(one)[0] == "L"]
    inside = [one for one in letters if any(low <= ord(one) <= high for low, high in SCRIPTS[language])]
    if any(unicodedata.category(one) in {"Nl", "No"} for one in text):
        return  # numerals that are neither decimal digits nor letters count as words do in `re`
    assert script_share(text, language) == pytest.approx(len(inside) / len(letters) if letters else 0)
