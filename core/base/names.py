"""Names of people: which a pass can hold, and which two look the same.

Two tables of Unicode's (`resources/unicode`, docs/decisions/0020-names.md) decide: which letters its identifier profile
has (UTS 39, section 3.1), none of which is invisible, and what each of them looks like (section 4).  A name has letters
of one alphabet only.
"""

import platform
import unicodedata
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

import resources
from core.base.bounds import USERNAME_BYTES_MAX
from core.base.ids import PeerId
from core.base.problems import BadInput

BACKBONE_NAME: Final = "Backbone"
"""Nobody else has it in the admission log."""
NAME_CHARS_MAX: Final = 40
_MARKUP: Final = frozenset('<>&"\\|`()[]{}')
"""ASCII characters that no name has: those of languages of markup, and brackets, in which the window puts its own words
behind a name."""
_FORMULA: Final = "=+-@ "
"""A table program takes a cell that begins with one of these, behind any spaces, for a formula."""
_PICTURES: Final = (range(0x2600, 0x27C0), range(0x1F300, 0x1FB00))
"""Code points among which are the pictures that people put into names."""
_WITH_LATIN: Final = frozenset({"LATIN", "CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO"})
"""Alphabets that people write beside Latin letters."""
_ONE_MARK: Final = frozenset({"LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "GEORGIAN"})
"""Alphabets in which a letter has at most one mark beside those that NFC composes with it."""
_MARKS_MAX: Final = 4
"""Upper bound on the marks of a letter of any alphabet (UTS 39, section 5.4)."""
_VIRAMA: Final = 9
"""Canonical combining class of the signs behind which a joiner chooses another form (RFC 5892, A.1 and A.2)."""


def usable_name(name: str) -> str:
    """`name` as a pass can hold it: at most 40 letters and 64 bytes; empty when nothing is left of it."""
    kept = ""
    for letter in unicodedata.normalize("NFKC", name):
        if unicodedata.category(letter).startswith("M"):
            kept += letter if _may_mark(letter, kept) else ""
        else:
            kept += letter if _is_allowed(letter, kept) else " "
    readable = " ".join(unicodedata.normalize("NFC", kept).split())
    short = readable.lstrip(_FORMULA)[:NAME_CHARS_MAX].encode()[:USERNAME_BYTES_MAX].decode(errors="ignore")
    return short.strip()


def chosen_name(*wished: str) -> str:
    """The first of these names that can be used, else this computer's own, as a pass can hold it."""
    return next((usable for name in (*wished, platform.node()) if (usable := usable_name(name))), "A volunteer")


def check_name(name: str) -> None:
    """Refuse a name that no pass can hold, or that imitates letters of one alphabet by those of another.

    Raises:
        BadInput: it cannot be used; the sentence says why.
    """
    if not name or usable_name(name) != name:
        raise BadInput(
            "The name {name} cannot be used.", repr(name[:20]), hint="Choose one of 1 to 40 letters, digits and spaces."
        )
    spelt = [letter for letter in name if letter.isalpha() and unicodedata.category(letter) != "Lm"]
    if len({_alphabet(letter) for letter in spelt}) > 1:
        message = "The name {name} mixes letters of several alphabets."
        raise BadInput(message, repr(name[:20]), hint="Choose one with letters of one.")


def with_digits(name: str, key: PeerId) -> str:
    """The name with four digits of a key, which are of no alphabet, where another person has it."""
    digits = f" {int.from_bytes(key[:4], 'big') % 10_000:04}"
    room_bytes = USERNAME_BYTES_MAX - len(digits)
    return name[: NAME_CHARS_MAX - len(digits)].encode()[:room_bytes].decode(errors="ignore").rstrip() + digits


def looks(name: str) -> tuple[str, str]:
    """The skeletons of a name (UTS 39, section 4) as it is written and in small letters.

    Two names that share one may be taken for each other.
    """
    plain = unicodedata.normalize("NFKC", name)
    return _skeleton(plain), _skeleton(plain.casefold())


def _skeleton(text: str) -> str:
    seen = "".join(letter for letter in unicodedata.normalize("NFD", text) if unicodedata.category(letter) != "Cf")
    alike = unicodedata.normalize("NFD", seen.translate(_prototypes()).casefold())
    return "".join(alike.replace("i\u0307", "i").split())


def _is_allowed(letter: str, before: str) -> bool:
    """Whether a name may have a letter, sign or space, behind the part of the name before it."""
    if letter in "\u200c\u200d":
        return unicodedata.combining(before[-1:] or " ") == _VIRAMA
    picture = unicodedata.category(letter) == "So" and any(ord(letter) in each for each in _PICTURES)
    return letter.isprintable() and letter not in _MARKUP and (letter.isascii() or picture or _is_identifier(letter))


def _may_mark(mark: str, before: str) -> bool:
    """Whether a mark may follow: there is a letter that has few marks yet, and the last is another one."""
    marks = 0
    while before and unicodedata.category(before[-1]).startswith("M"):
        if before[-1] == mark:
            return False
        before, marks = before[:-1], marks + 1
    if not before[-1:].isalpha() or not _is_identifier(mark):
        return False
    return marks < (1 if _alphabet(before[-1]) in _ONE_MARK else _MARKS_MAX)


def _alphabet(letter: str) -> str:
    alphabet = unicodedata.name(letter, "UNKNOWN").partition(" ")[0]
    return "LATIN" if alphabet in _WITH_LATIN else alphabet


def _is_identifier(letter: str) -> bool:
    return bisect_right(_identifiers(), ord(letter)) % 2 == 1


@cache
def _identifiers() -> Sequence[int]:
    """The identifier profile: by turns the first code point of a range, and the one behind its last."""
    lines = resources.file("unicode", "identifiers.txt").read_text("ascii").split()
    bounds = (line.split("..") for line in lines)
    return [point for each in bounds for point in (int(each[0], 16), int(each[-1], 16) + 1)]


@cache
def _prototypes() -> Mapping[int, str]:
    """What each code point looks like, by code point."""
    rows = (line.split(" ; ") for line in resources.file("unicode", "confusables.txt").read_text("ascii").splitlines())
    return {int(point, 16): "".join(chr(int(each, 16)) for each in like.split()) for point, like in rows}
