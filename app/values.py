"""Sentences of engine and commands that have values inside, in the person's language: "Port 4000 is used by …"."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

import resources

CONTEXT: Final = "potluck"
END: Final = re.compile(r"[.…] ")
"""Of a sentence that another one follows."""
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
    if " " not in sentence or len(sentence) > LETTERS_MAX:
        return sentence
    for template, shape in _shapes():
        said = translate(CONTEXT, template)
        if said != template and (found := shape.fullmatch(sentence)):
            values = found.groups()
            in_turn = _in_turn(sentence, translate) if any(map(END.search, values)) else sentence
            return in_turn if in_turn != sentence else said.format(*(_value(value, translate) for value in values))
    return _in_turn(sentence, translate)


def _in_turn(sentence: str, translate: Translate) -> str:
    """Two sentences after each other, where both are known."""
    for end in END.finditer(sentence):
        parts = sentence[: end.start() + 1], sentence[end.end() :]
        first, rest = (_value(part, translate) for part in parts)
        if first != parts[0] and rest != parts[1]:
            return f"{first} {rest}"
    return sentence


def _value(value: str, translate: Translate) -> str:
    """A value may be a sentence or a word of the catalogue itself, or several such words with commas between them."""
    words = {word: translate(CONTEXT, word) if word else word for word in value.split(", ")}
    known = all(word != said for word, said in words.items())
    return ", ".join(words.values()) if known else translated(value, translate)


@lru_cache(maxsize=1)
def _shapes() -> list[tuple[str, re.Pattern[str]]]:
    """Templates with what fits them, those that say most first."""
    lines = resources.file("translations", "templates.txt").read_text("utf-8").splitlines()
    ordered = sorted(lines, key=lambda line: -len(re.sub(r"\{\d+\}", "", line)))
    return [(line, re.compile("(.+?)".join(map(re.escape, re.split(r"\{\d+\}", line))), re.DOTALL)) for line in ordered]
