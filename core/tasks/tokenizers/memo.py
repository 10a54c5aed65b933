"""What a tokenizer makes of words, remembered: most words of a text came before."""

import json
import re
from array import array
from collections.abc import Callable
from typing import Final, TypeVar

from tokenizers import Tokenizer, models

from core.tasks.tokenizers.normalisers import KNOWN_LETTERS
from core.tasks.tokenizers.unigram import RECIPES, TokenizerRecipe, panics_told, pre_tokenizer_of

WORDS_MAX: Final = 300_000
"""Number of words that are remembered, about 60 MB; then all are forgotten."""
LETTERS_MAX: Final = 64
"""Upper bound on the letters of a word that is remembered."""
BEGINNING: Final = "\u2581"
"""What pieces begin with that begin a word."""
_NEIGHBOUR: Final = "a"
_PARTS: Final = re.compile(f"{BEGINNING}[{KNOWN_LETTERS}]*|[{KNOWN_LETTERS}]+|[^{KNOWN_LETTERS}]")
"""Parts of a text of known letters and marks, where marks and digits stand alone."""
_AT_BRACKETS: Final = re.compile(r"[^<\[]+|[<\[]")
"""Where they do not."""

Packed = bytes
"""Numbers of pieces, 16 bits each, as this computer orders bytes."""
PACKED_BYTES: Final = 2
Made = TypeVar("Made")


class WordMemo:
    """Cuts texts as their tokenizer does, and never otherwise.

    A tokenizer of a recipe of ours normalises and divides a text word by word (`core.tasks.tokenizers.normalisers`), so
    a text is cut as the parts of its words are, each of which the model cuts once.  With other tokenizers that is tried
    for each word.  Where it does not hold, the tokenizer itself cuts the whole text: so it is with a control character
    that a normaliser leaves out, or U+2581.

    Args:
        tokenizer: It may be anybody's.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._normaliser = tokenizer.normalizer
        self._pre_tokenizer = tokenizer.pre_tokenizer
        self._tokenize = tokenizer.model.tokenize
        self._recipe = _recipe_of(tokenizer)
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
        if self._recipe is None:
            return self._tried(word)
        said = self._recipe.normalise_word(word)
        if said is not None:
            parts = _PARTS if self._recipe.isolates else _AT_BRACKETS
            return b"".join(map(self._parts.__getitem__, parts.findall(BEGINNING + said)))
        said = self._normaliser.normalize_str(word)
        if not said or said != said.strip(" "):
            return None
        return b"".join(self._parts[part] for part, _ in self._pre_tokenizer.pre_tokenize_str(said))

    def _tried(self, word: str) -> Packed | None:
        """The same of a tokenizer of which nothing is known: a word is cut alone and between others."""
        packed = self._whole(word)
        context = self._whole(f"{_NEIGHBOUR} {word} {_NEIGHBOUR}")
        return packed if packed and context == self._neighbour + packed + self._neighbour else None

    def _of_part(self, part: str) -> Packed:
        return _packed([token.id for token in self._tokenize(part)])

    def _whole(self, text: str) -> Packed:
        with panics_told():
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


def _recipe_of(tokenizer: Tokenizer) -> TokenizerRecipe | None:
    """The recipe that a tokenizer follows in all but its vocabulary.

    None: it follows none, or takes special or added pieces out of a text before that is normalised.
    """
    if not tokenizer.encode_special_tokens or not all(t.special for t in tokenizer.get_added_tokens_decoder().values()):
        return None
    how = _how(tokenizer)
    for made in RECIPES.values():
        empty = Tokenizer(models.Unigram())
        empty.normalizer, empty.pre_tokenizer = made.normaliser(), pre_tokenizer_of(made)
        if _how(empty) == how:
            return made
    return None


def _how(tokenizer: Tokenizer) -> tuple[object, object, str]:
    said = json.loads(tokenizer.to_str())
    return said["normalizer"], said["pre_tokenizer"], said["model"]["type"]
