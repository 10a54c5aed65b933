"""What a tokenizer makes of words, remembered: most words of a text came before."""

import json
import re
import string
from array import array
from collections.abc import Callable
from typing import Final, TypeVar

from tokenizers import Tokenizer, models

from core.tasks.tokenizers.unigram import RECIPES, pre_tokenizer_of

WORDS_MAX: Final = 300_000
"""Number of words that are remembered, about 60 MB; then all are forgotten."""
LETTERS_MAX: Final = 64
"""Of a word that is remembered."""
BEGINNING: Final = "\u2581"
"""What pieces begin with that begin a word."""
_NEIGHBOUR: Final = "a"
_BRACKETS: Final = "<["
"""One of them stands in each special piece."""
_SMALL: Final = string.ascii_lowercase + "ßàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿœ"
_MARKS: Final = "".join({*string.digits, *string.punctuation, *"‘’“”–—"} - {"|", *_BRACKETS})  # noqa: RUF001
_SIMPLE: Final = re.escape(_MARKS) + "".join({*_SMALL, *_SMALL.replace("ß", "").upper()})
"""Of these letters are lowered, and all others left as they are; a pipe can be a danda."""
_PARTS: Final = re.compile(f"{BEGINNING}[{_SMALL}]*|[{_SMALL}]+|[^{_SMALL}]")

Packed = bytes
"""Numbers of pieces, 16 bits each, as this computer orders bytes."""
PACKED_BYTES: Final = 2
Made = TypeVar("Made")


class WordMemo:
    """Cuts texts as their tokenizer does, and never otherwise.

    A tokenizer of ours normalises and divides a text word by word (`core.tasks.tokenizers.normalisers`), so a text is
    cut as its words are, and where its recipe lets marks and digits stand alone, a word of plain letters as its parts
    are.  With all other words, and other tokenizers, that is tried for each word, and where it does not hold the
    tokenizer itself cuts the whole text: so it is with a control character that a normaliser leaves out, or U+2581.

    Args:
        tokenizer: It may be anybody's.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._tokenize = tokenizer.model.tokenize
        self._is_simple = re.compile(f"[{_SIMPLE}]+" if _isolates(tokenizer) else "(?!)").fullmatch
        self._neighbour = self._whole(_NEIGHBOUR)
        self._words: _Remembered[Packed | None] = _Remembered(self._of_word)
        self._parts: _Remembered[Packed] = _Remembered(self._of_part)

    def __len__(self) -> int:
        """Number of words that are remembered now."""
        return len(self._words)

    def pieces(self, text: str) -> Packed:
        """The numbers of a text's pieces, as the tokenizer gives them without the template's special ones.

        Raises:
            OverflowError: one of them has more than 16 bits.
        """
        try:
            return b"".join(map(self._words.__getitem__, text.split(" ")))  # type: ignore[arg-type]
        except TypeError:  # there is a None among them
            return self._whole(text)

    def _of_word(self, word: str) -> Packed | None:
        """The pieces of a word; None: they depend on what stands beside it."""
        if self._is_simple(word):
            return b"".join(map(self._parts.__getitem__, _PARTS.findall(BEGINNING + word.lower())))
        packed = self._whole(word)
        context = self._whole(f"{_NEIGHBOUR} {word} {_NEIGHBOUR}")
        return packed if packed and context == self._neighbour + packed + self._neighbour else None

    def _of_part(self, part: str) -> Packed:
        return _packed([token.id for token in self._tokenize(part)])

    def _whole(self, text: str) -> Packed:
        return _packed(self._tokenizer.encode(text, add_special_tokens=False).ids)


class _Remembered(dict[str, Made]):
    """What was made of words, and makes what is missing; long words are not kept, and too many are all forgotten."""

    def __init__(self, make: Callable[[str], Made]) -> None:
        self._make = make

    def __missing__(self, word: str) -> Made:
        made = self._make(word)
        if len(word) <= LETTERS_MAX:
            if len(self) >= WORDS_MAX:
                self.clear()
            self[word] = made
        return made


def _packed(ids: list[int]) -> Packed:
    return array("H", ids).tobytes()


def _isolates(tokenizer: Tokenizer) -> bool:
    """Whether a tokenizer is of one of our recipes that let marks and digits stand alone; all of them lower letters."""
    special = (token.content for token in tokenizer.get_added_tokens_decoder().values())
    if not all(set(_BRACKETS).intersection(content) for content in special):
        return False
    how = _how(tokenizer)
    for made in RECIPES.values():
        empty = Tokenizer(models.Unigram())
        empty.normalizer, empty.pre_tokenizer = made.normaliser(), pre_tokenizer_of(made)
        if made.isolates and _how(empty) == how:
            return True
    return False


def _how(tokenizer: Tokenizer) -> tuple[object, object, str]:
    said = json.loads(tokenizer.to_str())
    return said["normalizer"], said["pre_tokenizer"], said["model"]["type"]
