import pytest

from core.backbone.names import NAME_CHARS_MAX, check_name, skeleton, usable_name
from core.base.bounds import USERNAME_BYTES_MAX
from core.base.problems import BadInput


@pytest.mark.parametrize(
    ("name", "usable"),
    [
        ("Ada", "Ada"),
        ("  Ada \t Lovelace\n", "Ada Lovelace"),
        ("x" * 100, "x" * 40),
        ("🥘" * 60, "🥘" * 16),
        ("a\x00\x1b[31m\x7fb", "a [31m b"),
        ("\udcff\u202e", ""),
        ("", ""),
    ],
)
def test_a_name_is_made_usable(name: str, usable: str) -> None:
    assert usable_name(name) == usable
    assert len(usable) <= NAME_CHARS_MAX
    assert len(usable.encode()) <= USERNAME_BYTES_MAX


@pytest.mark.parametrize(
    "name", ["Ada", "Ann-Marie 2", "Ёлка", "田中 Taro", "Zoë", "pc1.example", "José (laptop)", "🥘"]
)
def test_names_of_people_can_be_used(name: str) -> None:
    check_name(usable_name(name))


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
    ],
)
def test_confusing_names_are_refused(name: str) -> None:
    with pytest.raises(BadInput):
        check_name(name)


@pytest.mark.parametrize(
    ("one", "other"),
    [("Alice", "alice"), ("Anna Bell", "annabell"), ("Straße", "STRASSE"), ("\u0441\u043e\u0440\u0435", "Cope")],
)
def test_names_that_look_the_same_are_one(one: str, other: str) -> None:
    assert skeleton(one) == skeleton(other)
