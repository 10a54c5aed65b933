"""What a tokenizer makes of words, remembered: most words of a text came before."""

import string
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final

from tokenizers import Tokenizer

from core.tasks.tokenizers.unigram import pieces

WORDS_MAX: Final = 300_000
"""Number of words that are remembered, about 60 MB; then all are forgotten."""
LETTERS_MAX: Final = 64
"""Of a word that is remembered."""
BEGINNING: Final = "\u2581"
"""What pieces begin with that begin a word."""
_NEIGHBOUR: Final = "a"
_SIMPLE: Final = frozenset(string.ascii_letters + string.digits + string.punctuation)

Pieces = tuple[int, ...]


class WordMemo:
    """Cuts texts as their tokenizer does, and never otherwise.

    A tokenizer of ours normalises and divides a text word by word (`core.tasks.tokenizers.normalisers`), so that a text
    is cut as its words are.  That is tried of each word, and where it does not hold the whole text is cut by the
    tokenizer itself: a special token in a text is such a word, a control character that a normaliser leaves out, or
    U+2581.

    Args:
        tokenizer: It may be anybody's.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._made: dict[str, Pieces | None] = {}
        """Of each word its pieces; None: they depend on what stands beside it."""
        self._neighbour = tuple(pieces(tokenizer, [_NEIGHBOUR])[0])
        self._special = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
        self._beginning = bytes(
            (tokenizer.id_to_token(number) or "").startswith(BEGINNING) for number in range(tokenizer.get_vocab_size())
        )
        probes = [word for letter in _SIMPLE for word in (letter, f"x{letter}", f"{letter}x", f"x{letter}x")]
        self._knows_simple = None not in self._tried(probes)
        """Whether words of plain letters and marks are cut alike wherever they stand."""

    def __len__(self) -> int:
        """Number of words that are remembered now."""
        return len(self._made)

    def pieces(self, texts: Sequence[str]) -> list[list[int]]:
        """The numbers of the pieces of each text, as `core.tasks.tokenizers.unigram.pieces` gives them."""
        divided = [text.split(" ") for text in texts]
        made = self._made
        unknown = {word for words in divided for word in words if word not in made}
        if unknown:
            self._learn(unknown)
        found: list[list[int]] = []
        plain: list[int] = []
        for place, words in enumerate(divided):
            parts = [made.get(word) for word in words]
            if None in parts:
                plain.append(place)
                found.append([])
            else:
                found.append(list(chain.from_iterable(parts)))  # type: ignore[arg-type]
        if plain:
            for place, ids in zip(plain, pieces(self._tokenizer, [texts[at] for at in plain]), strict=True):
                found[place] = ids
        return found

    def _learn(self, words: Iterable[str]) -> None:
        """Remember words, but for those that are too long."""
        short = [word for word in words if 0 < len(word) <= LETTERS_MAX]
        if len(self._made) + len(short) > WORDS_MAX:
            self._made.clear()
            return
        simple = [word for word in short if self._knows_simple and self._is_simple(word)]
        together = self._together(simple)
        self._made.update(together)
        rest = [word for word in short if word not in together]
        self._made.update(zip(rest, self._tried(rest), strict=True))

    def _is_simple(self, word: str) -> bool:
        return _SIMPLE.issuperset(word) and not any(special in word for special in self._special)

    def _together(self, words: Sequence[str]) -> dict[str, Pieces]:
        """The pieces of simple words, cut in one go and, to be sure, once more with other neighbours."""
        if not words:
            return {}
        there, back = pieces(self._tokenizer, [" ".join(words), " ".join(reversed(words))])
        found, again = self._divided(there), self._divided(back)
        if len(found) != len(words) or len(again) != len(words):
            return {}
        return {word: one for word, one, two in zip(words, found, reversed(again), strict=True) if one == two}

    def _divided(self, ids: Sequence[int]) -> list[Pieces]:
        """Pieces, divided before each that begins a word."""
        starts = [place for place, number in enumerate(ids) if self._beginning[number]]
        return [tuple(ids[start:end]) for start, end in zip(starts, [*starts[1:], len(ids)], strict=True)]

    def _tried(self, words: Sequence[str]) -> list[Pieces | None]:
        """The pieces of each word, where it is cut alone as it is between others."""
        alone = pieces(self._tokenizer, words)
        between = pieces(self._tokenizer, [f"{_NEIGHBOUR} {word} {_NEIGHBOUR}" for word in words])
        return [
            tuple(ids) if ids and tuple(context) == (*self._neighbour, *ids, *self._neighbour) else None
            for ids, context in zip(alone, between, strict=True)
        ]
