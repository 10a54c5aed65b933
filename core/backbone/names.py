"""Names of people: which a pass can hold, and which two look the same.

A confusable name costs more than a strange one: names are compared as Unicode's NFKC writes them, in small letters and
with the letters that other alphabets share with the Latin one replaced; a name has letters of one alphabet only.
"""

import unicodedata
from typing import Final

from core.base.bounds import USERNAME_BYTES_MAX
from core.base.problems import BadInput

NAME_CHARS_MAX: Final = 40
_MARKUP: Final = frozenset('<>&"\\|`')
_FORMULA: Final = "=+-@"
"""A table program takes a cell that begins with one of these for a formula."""
_WITH_LATIN: Final = frozenset({"LATIN", "CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "FEMININE", "MASCULINE"})
"""Alphabets that people write beside Latin letters, and that have none that look like them."""
_LOOK_ALIKE: Final = str.maketrans("аеорсухіјѕһԁԛԝкмтвнɡαορυνικτχ", "aeopcyxijshdqwkmtbhgaopuviktx")
"""Cyrillic and Greek small letters as the Latin ones that they look like, in themselves or as capitals."""


def usable_name(name: str) -> str:
    """`name` as a pass can hold it: at most 40 letters and 64 bytes; empty when nothing is left of it."""
    normal = unicodedata.normalize("NFKC", name)
    readable = " ".join("".join(letter if _is_allowed(letter) else " " for letter in normal).split())
    short = readable.lstrip(_FORMULA)[:NAME_CHARS_MAX].encode()[:USERNAME_BYTES_MAX].decode(errors="ignore")
    return short.strip()


def check_name(name: str) -> None:
    """Refuse a name that no pass can hold, or that imitates letters of one alphabet by those of another.

    Raises:
        BadInput: it cannot be used; the sentence says why.
    """
    if not name or usable_name(name) != name:
        raise BadInput(
            f"The name {name[:20]!r} cannot be used.", hint="Choose one of 1 to 40 letters, digits and spaces."
        )
    if len({_alphabet(letter) for letter in name if letter.isalpha()}) > 1:
        raise BadInput(
            f"The name {name[:20]!r} mixes letters of several alphabets.", hint="Choose one with letters of one."
        )


def skeleton(name: str) -> str:
    """What two names have in common that people may take for each other."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return "".join(folded.split()).translate(_LOOK_ALIKE)


def _is_allowed(letter: str) -> bool:
    return letter.isprintable() and letter not in _MARKUP


def _alphabet(letter: str) -> str:
    alphabet = unicodedata.name(letter, "UNKNOWN").partition(" ")[0]
    return "LATIN" if alphabet in _WITH_LATIN else alphabet
