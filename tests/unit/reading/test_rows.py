"""What decides about rows, beside the text."""

import dataclasses
import unicodedata

from core.reading.rows import rows_digest


@dataclasses.dataclass(frozen=True)
class Fixed:
    """A cutter of a certain shape."""

    width: int = 8
    numbers_max: int = 100
    tokens: int = 8


def test_rows_of_another_version_are_other_rows(monkeypatch):
    now = rows_digest(b"c" * 32, Fixed())
    assert rows_digest(b"c" * 32, Fixed()) == now
    assert rows_digest(b"d" * 32, Fixed()) != now
    assert rows_digest(b"c" * 32, Fixed(width=9)) != now
    assert rows_digest(b"c" * 32, Fixed(), edition=2) != now
    monkeypatch.setattr(unicodedata, "unidata_version", "1.0.0")
    assert rows_digest(b"c" * 32, Fixed()) != now
