# ruff: noqa: RUF001
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.bounds import USERNAME_BYTES_MAX
from core.base.names import NAME_CHARS_MAX, check_name, looks, usable_name
from core.base.problems import BadInput


@pytest.mark.parametrize(
    ("name", "usable"),
    [
        ("Ada", "Ada"),
        ("  Ada \t Lovelace\n", "Ada Lovelace"),
        ("x" * 100, "x" * 40),
        ("🥘" * 60, "🥘" * 16),
        ("a\x00\x1b[31m\x7fb", "a 31m b"),
        ("\udcff\u202e", ""),
        ("", ""),
        ("= -1+1", "1+1"),
        ("Backbone\ufe0f", "Backbone"),
        ("alice (you)", "alice you"),
        ("e\ufe0f\u0301", "\u00e9"),
        ("Z\u0300\u0301\u0302\u0303algo", "Z\u0300algo"),
        ("Ada \u2764\ufe0f \u2615", "Ada \u2764 \u2615"),
    ],
)
def test_a_name_is_made_usable(name: str, usable: str) -> None:
    assert usable_name(name) == usable
    assert len(usable) <= NAME_CHARS_MAX
    assert len(usable.encode()) <= USERNAME_BYTES_MAX


REAL = (
    *("Ada", "Ann-Marie 2", "Zoë", "pc1.example", "🥘", "O'Connor", "O’Brien", "José Muñoz", "Björk Guðmundsdóttir"),
    *("Nguyễn Thị Ánh", "Ọládẹ̀", "İpek Işık", "Krzyżanowski Łukasz", "Kaʻiulani", "Ėlė̃"),
    *("Ёлка", "Ѓорѓи", "Наталія", "Ελένη Παπαδοπούλου", "Հայկ", "გიორგი"),
    *("אביגיל", "שָׁלוֹם", "محمد عبد الله", "مُحَمَّد", "زهرا", "ܫܡܥܘܢ"),
    *("田中 Taro", "佐々木", "ジョージ", "さくら", "김민준", "李小龍", "ㄅㄆㄇ", "မောင်ကြွယ်", "ស្រីមុំ", "ທ້າວ"),
    *("สมชาย", "น้ำผึ้ง", "অনির্বাণ চট্টোপাধ্যায়", "চাঁদ", "ड़ॉ. राज", "प्रियंका", "ਗੁਰਪ੍ਰੀਤ", "தமிழ்ச்செல்வி", "లక్ష్మి", "ಕೃಷ್ಣ", "ശ്രീജിത്ത്"),
    *("ශ්‍රී", "བསོད་ནམས་རྒྱལ", "አበበ", "ᏣᎳᎩ", "ᐃᓄᒃ", "ⵉⴷⵉⵔ", "ߞߊ߲ߞߊ߲", "ꦧꦸꦢꦶ"),
)
"""Names of people, of many scripts."""


@pytest.mark.parametrize("name", REAL)
def test_names_of_people_can_be_used(name: str) -> None:
    written = unicodedata.normalize("NFKC", name)
    assert usable_name(name) == written
    check_name(written)


def test_names_of_people_look_different() -> None:
    seen = [look for name in REAL for look in set(looks(name))]
    assert len(seen) == len(set(seen))


@given(st.text(max_size=60) | st.text("e\u0301\u0323\ufe0f\u200d\u0dca -=(\u0e19\u0e49\u1161", max_size=60))
def test_usable_name_is_usable_as_it_is(name: str) -> None:
    assert usable_name(usable_name(name)) == usable_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            " ",
            " Ada",
            "Ada ",
            "A  da",
            "a\x00b",
            "a\u200bb",
            "\u202ealice",
            "=cmd()",
            "+1",
            "@x",
            "-a",
            "<b>x</b>",
        ),
        *("\u0430lice", "Alic\u0435", "\u03bfscar", "\uff21da", "\U0001d400da", "\u00e9" * 33, 'a"b', "a" * 41),
        *(
            "alice (you)",
            "alice\ufe0f",
            "al\u034fice",
            "alice\u115f",
            "alice\u2800",
            "alice\u180b",
            "alice\u17b4",
            "\u1d00lice",
        ),
        *(
            "Backbone\ufe0f",
            "a" + "\u0301" * 19,
            "\u0301lice",
            "ali\ufffcce",
            "a\u200dlice",
            "\u0e19\u0e49\u0e49",
            "1\u0301",
        ),
    ],
)
def test_confusing_names_are_refused(name: str) -> None:
    with pytest.raises(BadInput):
        check_name(name)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(("Alice", "alice"), ("Anna Bell", "annabell"), ("Straße", "STRASSE"), ("\u0441\u043e\u0440\u0435", "Cope")),
        *(
            ("Alice", "AIice"),
            ("Alice", "A1ice"),
            ("alice", "al\u0131ce"),
            ("alice", "al\u0269ce"),
            ("alice", "ali\u0307ce"),
        ),
        *(
            ("Backbone", "Backb0ne"),
            ("Bernd", "Bemd"),
            ("BOHN", "\u0392\u039f\u0397\u039d"),
            ("\u30ed\u53e3", "\u53e3\u53e3"),
        ),
    ],
)
def test_names_that_look_the_same_are_one(one: str, other: str) -> None:
    assert set(looks(one)) & set(looks(other))
