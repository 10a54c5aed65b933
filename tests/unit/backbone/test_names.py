import pytest

from core.backbone.join import NAME_CHARS_MAX, usable_name
from core.net.passes import USERNAME_BYTES_MAX


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
