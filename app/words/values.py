"""Sentences of engine and commands that have values inside, in the person's language: "Port 4000 is used by …"."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

import resources

CONTEXT: Final = "potluck"
END: Final = re.compile(r"[.…] ")
"""End of a sentence that another one follows."""
LETTERS_MAX: Final = 1000
"""Longer sentences are left as they are: some of them come from strangers."""

Translate = Callable[[str, str], str]


def translated(sentence: str, translate: Translate) -> str:
    """The sentence by the first template that fits it; itself where none does, or none is translated.

    Where a value would hold the end of a sentence, it may be the next one, which is then looked for by itself.

    Args:
        sentence: In English.
        translate: Gives a text of a context in the person's language.
    """
    return sentence if len(sentence) > LETTERS_MAX else _Translation(translate).sentence(sentence)


class _Translation:
    """A text in the person's language.

    No part is looked up twice, in however many ways a text can be cut: a stranger chooses how many sentences it has.
    """

    def __init__(self, translate: Translate) -> None:
        self._translate = translate
        self._known: dict[str, str] = {}

    def sentence(self, text: str) -> str:
        """By a template, or several after each other."""
        if " " not in text:
            return text
        for template, values in _fitting(text):
            said = self._translate(CONTEXT, template)
            if said != template:
                in_turn = self._in_turn(text) if any(map(END.search, values)) else text
                return in_turn if in_turn != text else said.format(*map(self._value, values))
        return self._in_turn(text)

    def _in_turn(self, text: str) -> str:
        """Two sentences after each other, where both are known."""
        for end in END.finditer(text):
            first, rest = text[: end.start() + 1], text[end.end() :]
            if self._value(first) != first and self._value(rest) != rest:
                return f"{self._value(first)} {self._value(rest)}"
        return text

    def _value(self, value: str) -> str:
        """It may be a sentence or a word of the catalogue itself, or several such words with commas between them."""
        if value not in self._known:
            words = {word: self._translate(CONTEXT, word) if word else word for word in value.split(", ")}
            known = all(word != said for word, said in words.items())
            self._known[value] = ", ".join(words.values()) if known else self.sentence(value)
        return self._known[value]


@lru_cache(maxsize=1000)
def _fitting(sentence: str) -> list[tuple[str, tuple[str, ...]]]:
    """Templates that a sentence fits, with the values it has in each: the window says the same again and again."""
    return [(template, found.groups()) for template, shape in _shapes() if (found := shape.fullmatch(sentence))]


@lru_cache(maxsize=1)
def _shapes() -> list[tuple[str, re.Pattern[str]]]:
    """Templates with what fits them, those that say most first."""
    lines = resources.file("translations", "templates.txt").read_text("utf-8").splitlines()
    ordered = sorted(lines, key=lambda line: -len(re.sub(r"\{\d+\}", "", line)))
    return [(line, re.compile("(.+?)".join(map(re.escape, re.split(r"\{\d+\}", line))), re.DOTALL)) for line in ordered]
