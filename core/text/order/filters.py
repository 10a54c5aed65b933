"""Which texts of a source are read: by length, script, columns of their table, and not twice.

A manifest has them in `DataSource.filters`, by name:

    characters_least, characters_most    of the text
    words_least, words_most              what white space divides
    language, language_least             share of the letters that are of the language's script, 0 to 1; see `SCRIPTS`
    is:COLUMN                            what stands in a column of the same row: a word, a number, true or false
    least:COLUMN, most:COLUMN            bounds on a number in a column
    aspect_most, aspect_columns          longer side by shorter side, of two columns (S002 streams images up to 2)
    no_duplicates                        a text that stood in the same block before is left out

The language is told from the script alone: "en" keeps what is written in Latin letters, German too.  Duplicates are
found within a block of about 4 MiB, since each block is read on its own; `potluck data cut` finds them in a whole
source.

S002's data set of pictures is read with `characters_least = 3`, `"is:NSFW" = "UNLIKELY"`, `aspect_most = 2` and
`aspect_columns = "WIDTH,HEIGHT"`.

What the worst organiser gains: volunteers read text and throw it away; how much, they see (`Tally.left_out`).
"""

import hashlib
import math
import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.base.allowed import read_fields
from core.base.problems import BadInput, quoted

Value = int | float | str | bool
Row = Mapping[str, object]

REMEMBERED_MAX: Final = 1_000_000
"""Number of texts of which a sieve remembers that they came: 8 bytes of each."""
WORDS: Final = re.compile(r"\S+")
LETTERS: Final = re.compile(r"[^\W\d_]+")

_LATIN: Final = ((0x41, 0x24F), (0x1E00, 0x1EFF))
_CYRILLIC: Final = ((0x400, 0x52F),)
_ARABIC: Final = ((0x600, 0x6FF), (0x750, 0x77F), (0x8A0, 0x8FF))
_DEVANAGARI: Final = ((0x900, 0x97F),)
_BENGALI: Final = ((0x980, 0x9FF),)
_HAN: Final = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0x20000, 0x2FA1F))

Ranges = tuple[tuple[int, int], ...]

SCRIPTS: Final[Mapping[str, Ranges]] = MappingProxyType(
    {
        **dict.fromkeys(("bn", "as"), _BENGALI),
        **dict.fromkeys(("hi", "mr", "ne", "sa"), _DEVANAGARI),
        **dict.fromkeys(("ar", "fa", "ur", "ps", "sd", "ug"), _ARABIC),
        **dict.fromkeys(("be", "bg", "kk", "ky", "mk", "mn", "ru", "sr", "tg", "uk"), _CYRILLIC),
        **dict.fromkeys(("ca", "cs", "da", "de", "en", "es", "et", "eu", "fi", "fr", "gl", "hr", "hu", "id"), _LATIN),
        **dict.fromkeys(("is", "it", "lt", "lv", "ms", "nl", "no", "pl", "pt", "ro", "sk", "sl", "sv", "sw"), _LATIN),
        **dict.fromkeys(("tl", "tr", "uz", "vi", "yo", "zu"), _LATIN),
        "am": ((0x1200, 0x139F),),
        "el": ((0x370, 0x3FF), (0x1F00, 0x1FFF)),
        "gu": ((0xA80, 0xAFF),),
        "he": ((0x590, 0x5FF),),
        "hy": ((0x530, 0x58F),),
        "ja": ((0x3040, 0x30FF), *_HAN),
        "ka": ((0x10A0, 0x10FF), (0x1C90, 0x1CBF)),
        "km": ((0x1780, 0x17FF),),
        "kn": ((0xC80, 0xCFF),),
        "ko": ((0x1100, 0x11FF), (0x3130, 0x318F), (0xAC00, 0xD7A3)),
        "lo": ((0xE80, 0xEFF),),
        "ml": ((0xD00, 0xD7F),),
        "my": ((0x1000, 0x109F),),
        "or": ((0xB00, 0xB7F),),
        "pa": ((0xA00, 0xA7F),),
        "si": ((0xD80, 0xDFF),),
        "ta": ((0xB80, 0xBFF),),
        "te": ((0xC00, 0xC7F),),
        "th": ((0xE00, 0xE7F),),
        "zh": _HAN,
    }
)
"""Code points in which a language (ISO 639-1) is written."""

COUNT_MAX: Final = 2**40
Count = Annotated[int, Meta(ge=0, le=COUNT_MAX)]
Share = Annotated[float, Meta(ge=0, le=1)]


class FilterNumbers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Filters that do not name a column; each as in the module's docstring, by default none."""

    characters_least: Count = 0
    characters_most: Count = COUNT_MAX
    words_least: Count = 0
    words_most: Count = COUNT_MAX
    language: Annotated[str, Meta(max_length=2)] = ""
    language_least: Share = 0.5
    aspect_most: Annotated[float, Meta(ge=1, le=1e6)] = math.inf
    aspect_columns: Annotated[str, Meta(max_length=200)] = "width,height"
    no_duplicates: bool = False


class Filters:
    """What the texts of one source are held against; see the module.

    Args:
        numbers: The filters that name no column.
        bounds: Least and greatest number of a column, by column.
        equal: Value that must stand in a column, by column.
    """

    def __init__(
        self, numbers: FilterNumbers, bounds: Mapping[str, tuple[float, float]], equal: Mapping[str, Value]
    ) -> None:
        self._numbers = numbers
        self._bounds = bounds
        self._equal = equal
        self._sides = tuple(numbers.aspect_columns.split(",")) if numbers.aspect_most < math.inf else ()

    @property
    def columns(self) -> frozenset[str]:
        """The columns that rows must be read with, beside the text."""
        return frozenset({*self._bounds, *self._equal, *self._sides})

    def sieve(self) -> "Sieve":
        """A sieve for one block, or for as much else as duplicates are to be found in."""
        return Sieve(self)

    @property
    def no_duplicates(self) -> bool:
        """Whether texts that came before are left out."""
        return self._numbers.no_duplicates

    def allow(self, text: str, row: Row) -> bool:
        """Whether a text is read, wherever else it stands.

        Args:
            text: As the source has it.
            row: What else its row holds, by column; a column that is missing, or not a number where one is asked for,
                leaves the text out.
        """
        wanted = self._numbers
        if not wanted.characters_least <= len(text) <= wanted.characters_most:
            return False
        if wanted.words_least > 0 or wanted.words_most < COUNT_MAX:
            words = sum(1 for _ in WORDS.finditer(text))
            if not wanted.words_least <= words <= wanted.words_most:
                return False
        if wanted.language and script_share(text, wanted.language) < wanted.language_least:
            return False
        return self._allow_row(row)

    def _allow_row(self, row: Row) -> bool:
        if any(column not in row or not _is_equal(row[column], value) for column, value in self._equal.items()):
            return False
        if any(not least <= _number(row.get(column)) <= most for column, (least, most) in self._bounds.items()):
            return False
        if not self._sides:
            return True
        short, long = sorted(map(_number, map(row.get, self._sides)))
        return short > 0 and long <= self._numbers.aspect_most * short


class Sieve:
    """Holds texts against filters, one after the other, and knows which came already.

    Args:
        filters: Those of the source.
    """

    def __init__(self, filters: Filters) -> None:
        self._filters = filters
        self._seen: set[bytes] = set()

    def keeps(self, text: str, row: Row = MappingProxyType({})) -> bool:
        """Whether a text is read; see `Filters.allow`."""
        if not self._filters.allow(text, row):
            return False
        if not self._filters.no_duplicates:
            return True
        name = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        if name in self._seen:
            return False
        if len(self._seen) < REMEMBERED_MAX:
            self._seen.add(name)
        return True


def read_filters(given: Mapping[str, Value], *, where: str = "filters: ") -> Filters:
    """The filters of a source as its manifest has them.

    Args:
        given: By name.
        where: What comes before a name in a sentence.

    Raises:
        BadInput: a name is unknown, or a value is not what it can be; the sentence says what is.
    """
    plain: dict[str, Value] = {}
    bounds: dict[str, tuple[float, float]] = {}
    equal: dict[str, Value] = {}
    for name, value in given.items():
        kind, mark, column = name.partition(":")
        if not mark:
            plain[name] = value
        elif kind not in {"is", "least", "most"} or not column:
            advice = "What names a column is is:COLUMN, least:COLUMN or most:COLUMN."
            raise BadInput("{where}{name} is unknown.", where, f"{name!s:.40}", hint=advice)
        elif kind == "is":
            equal[column] = value
        elif isinstance(value, bool | str) or not math.isfinite(value):
            raise BadInput("{where}{name} must be a number, not {value}.", where, f"{name!s:.40}", f"{value!r:.40}")
        else:
            least, most = bounds.get(column, (-math.inf, math.inf))
            bounds[column] = (float(value), most) if kind == "least" else (least, float(value))
    try:
        numbers = read_fields(plain, FilterNumbers, where=where)
    except BadInput as problem:
        columns = ", is:COLUMN, least:COLUMN, most:COLUMN." if problem.hint.startswith("Allowed are") else "."
        raise BadInput(
            problem.message, hint=problem.hint.removesuffix(".") + columns if problem.hint else ""
        ) from problem
    if numbers.language and numbers.language not in SCRIPTS:
        message = "{where}language must be one of {scripts}, not {language}."
        hint = "Leave it out for a language that is not among them."
        raise BadInput(message, where, ", ".join(sorted(SCRIPTS)), quoted(numbers.language), hint=hint)
    if len(numbers.aspect_columns.split(",")) != 2:
        raise BadInput("{where}aspect_columns must name two columns, such as width,height.", where)
    return Filters(numbers, bounds, equal)


def script_share(text: str, language: str) -> float:
    """Share of a text's letters that are of a language's script; of a text without letters 0."""
    letters = sum(map(len, LETTERS.findall(text)))
    return sum(map(len, _letters_of(language).findall(text))) / letters if letters else 0.0


@cache
def _letters_of(language: str) -> re.Pattern[str]:
    """Runs of letters of a language's script."""
    inside = "".join(f"{re.escape(chr(first))}-{re.escape(chr(last))}" for first, last in SCRIPTS[language])
    return re.compile(f"(?:(?![\\W\\d_])[{inside}])+")


def _number(value: object) -> float:
    """A column's number; another value compares with nothing."""
    if isinstance(value, int | float | str):
        try:
            return float(value)
        except (ValueError, OverflowError):
            pass
    return math.nan


def _is_equal(value: object, wanted: Value) -> bool:
    if isinstance(wanted, bool) or isinstance(value, bool):
        return value is wanted
    if isinstance(wanted, str):
        return value == wanted
    return _number(value) == wanted
