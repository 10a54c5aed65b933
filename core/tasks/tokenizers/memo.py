"""What a tokenizer makes of words, remembered: most words of a text came before."""

import json
import re
import string
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final

from tokenizers import Tokenizer, models

from core.tasks.tokenizers.unigram import RECIPES, pieces, pre_tokenizer_of

WORDS_MAX: Final = 300_000
"""Number of words that are remembered, about 60 MB; then all are forgotten."""
LETTERS_MAX: Final = 64
"""Of a word that is remembered."""
BEGINNING: Final = "\u2581"
"""What pieces begin with that begin a word."""
_NEIGHBOUR: Final = "a"
_SIMPLE: Final = frozenset(string.ascii_letters + string.digits + string.punctuation + "‘’“”–—") - {"|"}  # noqa: RUF001
"""Of these letters are lowered, and all others left as they are; a pipe can be a danda."""
_PARTS: Final = re.compile(r"[a-z]+|[^a-z]")

Pieces = tuple[int, ...]


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
        self._made: dict[str, Pieces | None] = {}
        """Of each word its pieces; None: they depend on what stands beside it."""
        self._neighbour = tuple(pieces(tokenizer, [_NEIGHBOUR])[0])
        self._special = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
        self._isolates = _isolates(tokenizer)
        self._parts: dict[str, Pieces] = {}
        """Of parts of words their pieces."""

    def __len__(self) -> int:
        """Number of words that are remembered now."""
        return len(self._made)

    def pieces(self, texts: Sequence[str]) -> list[list[int]]:
        """The numbers of the pieces of each text, as `core.tasks.tokenizers.unigram.pieces` gives them."""
        divided = [text.split(" ") for text in texts]
        found = [self._known(words) for words in divided]
        missing = [place for place, ids in enumerate(found) if ids is None]
        if missing:
            self._learn({word for place in missing for word in divided[place] if word not in self._made})
            for place in missing:
                found[place] = self._known(divided[place])
        missing = [place for place in missing if found[place] is None]
        if missing:
            for place, ids in zip(missing, pieces(self._tokenizer, [texts[at] for at in missing]), strict=True):
                found[place] = ids
        return found  # type: ignore[return-value]

    def _known(self, words: Sequence[str]) -> list[int] | None:
        """The pieces of a text; None: they do not follow from what is remembered."""
        parts = list(map(self._made.get, words))
        return None if None in parts else list(chain.from_iterable(parts))  # type: ignore[arg-type]

    def _learn(self, words: Iterable[str]) -> None:
        """Remember words, except those that are too long."""
        short = [word for word in words if 0 < len(word) <= LETTERS_MAX]
        if len(self._made) + len(short) > WORDS_MAX:
            self._made.clear()
            self._parts.clear()
            return
        rest = []
        for word in short:
            if self._isolates and _SIMPLE.issuperset(word) and not any(special in word for special in self._special):
                self._made[word] = self._composed(word.lower())
            else:
                rest.append(word)
        self._made.update(zip(rest, self._tried(rest), strict=True))

    def _composed(self, word: str) -> Pieces:
        """The pieces of a word of plain letters, digits and marks, where marks and digits stand alone."""
        parts = _PARTS.findall(word)
        parts[0:1] = [BEGINNING + parts[0]] if parts[0].isalpha() else [BEGINNING, parts[0]]
        return tuple(chain.from_iterable(map(self._part, parts)))

    def _part(self, part: str) -> Pieces:
        made = self._parts.get(part)
        if made is None:
            made = self._parts[part] = tuple(token.id for token in self._tokenizer.model.tokenize(part))
        return made

    def _tried(self, words: Sequence[str]) -> list[Pieces | None]:
        """The pieces of each word, where it is cut alone as it is between others."""
        alone = pieces(self._tokenizer, words)
        between = pieces(self._tokenizer, [f"{_NEIGHBOUR} {word} {_NEIGHBOUR}" for word in words])
        return [
            tuple(ids) if ids and tuple(context) == (*self._neighbour, *ids, *self._neighbour) else None
            for ids, context in zip(alone, between, strict=True)
        ]


def _isolates(tokenizer: Tokenizer) -> bool:
    """Whether a tokenizer is of one of our recipes that let marks and digits stand alone; all of them lower letters."""
    for made in RECIPES.values():
        empty = Tokenizer(models.Unigram())
        empty.normalizer, empty.pre_tokenizer = made.normaliser(), pre_tokenizer_of(made)
        if made.isolates and _how(empty) == _how(tokenizer):
            return True
    return False


def _how(tokenizer: Tokenizer) -> tuple[object, object, str]:
    said = json.loads(tokenizer.to_str())
    return said["normalizer"], said["pre_tokenizer"], said["model"]["type"]
