"""Sentences for people with what stands in their fields: the English template is the key of its translations.

`Sentence("Port {port} is used by another program.", port)` reads in English as `str` of it.  What leaves a process or
a run of it, such as a view, a frame or a kept notice, has its texts in English and beside them, as `said`, how those
with values are made: `recalled` finds the sentence of such a text again.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

VALUE_LETTERS_MAX: Final = 2000
"""Upper bound on a value in a sentence: some come from strangers."""
_FIELD: Final = re.compile(r"\{(\w+)\}")

Translate = Callable[[str], str]


@dataclass(frozen=True, init=False, slots=True)
class Sentence:
    """A sentence, or some after each other, in the words of a template.

    Attributes:
        template: In English, with the names of values in braces; other braces stay as they are.
        arguments: The values by name.  A sentence among them is translated.
    """

    template: str
    arguments: dict[str, "str | Sentence"] = field(default_factory=dict)

    def __init__(self, template: str, /, *values: object) -> None:
        """Fill the fields of the template, in the order in which they come first."""
        object.__setattr__(self, "template", template)
        object.__setattr__(self, "arguments", _named(values, template))

    @classmethod
    def named(cls, template: str, values: Mapping[str, object]) -> "Sentence":
        """The same, with values by the names of the fields; a field without one stays as it is."""
        return cls(template, *(values.get(name, f"{{{name}}}") for name in dict.fromkeys(_FIELD.findall(template))))

    def __str__(self) -> str:
        return self.told(str)

    def told(self, translate: Translate) -> str:
        """The sentence in a language.

        Args:
            translate: Gives a template, or a sentence without values, in that language.
        """
        texts = {name: each if isinstance(each, str) else each.told(translate) for name, each in self.arguments.items()}
        return filled(translate(self.template), texts)


Said = tuple[Sentence, ...]
"""How the texts beside it are made, as far as they have values."""


def filled(template: str, values: Mapping[str, object]) -> str:
    """The template with its values; a field without one stays as it is.

    Args:
        template: With the names of values in braces.
        values: By name; each is shown up to `VALUE_LETTERS_MAX` letters.
    """
    return _FIELD.sub(lambda found: str(values.get(found[1], found[0]))[:VALUE_LETTERS_MAX], template)


def recalled(text: str, said: Iterable[Sentence]) -> Sentence:
    """The sentence that a text is in English.

    Args:
        text: The text.
        said: How it is made, if it is among these.
    """
    return next((one for one in said if str(one) == text), Sentence(text))


def later(sentence: str) -> str:
    """A sentence or a word in English, to be kept as it is: it is translated where it is shown."""
    return sentence


def in_series(parts: Iterable[Sentence], between: str) -> Sentence:
    """Several after each other, with the same between them."""
    made = list(parts)
    return Sentence(between.join(f"{{part_{number}}}" for number in range(len(made))), *made)


def parted(args: Mapping[str, str | int | Sentence]) -> tuple[dict[str, str | int], Said]:
    """The arguments of a code as they leave the process: sentences among them as texts, and how those are made."""
    said = tuple(each for each in args.values() if isinstance(each, Sentence))
    return {name: str(each) if isinstance(each, Sentence) else each for name, each in args.items()}, said


class Spoken(Exception):  # noqa: N818 - the root of problems, which are no mistakes in the program
    """What a person is told where something cannot be done.

    Args:
        message: One sentence that says what is wrong, perhaps with fields.
        values: What stands in the fields of message and hint, in the order in which they come first.
        hint: One sentence that says what to do about it, perhaps with fields.
        said: Where message and hint come from another process: how they were made there.
    """

    def __init__(
        self, message: str | Sentence, /, *values: object, hint: str | Sentence = "", said: Iterable[Sentence] = ()
    ) -> None:
        known = {str(one): one for one in said}
        texts = [known.get(text, text) if isinstance(text, str) else text for text in (message, hint)]
        named = _named(values, *(text for text in texts if isinstance(text, str)))
        self.sentence, self.advice = (Sentence.named(text, named) if isinstance(text, str) else text for text in texts)
        self.message, self.hint = str(self.sentence), str(self.advice)
        super().__init__(self.message)

    @property
    def said(self) -> Said:
        """How message and hint are made, as far as they have values."""
        return tuple(one for one in (self.sentence, self.advice) if one.arguments)

    @property
    def whole(self) -> Sentence:
        """Message and hint after each other."""
        return Sentence("{message} {hint}", self.sentence, self.advice) if self.hint else self.sentence

    def __str__(self) -> str:
        return str(self.whole)


def _named(values: Iterable[object], *templates: str) -> dict[str, str | Sentence]:
    """The values by the fields of the templates; a problem among them stands for its message and hint."""
    fields = dict.fromkeys(name for template in templates for name in _FIELD.findall(template))
    made = (each.whole if isinstance(each, Spoken) else each for each in values)
    texts = (each if isinstance(each, Sentence) else str(each)[:VALUE_LETTERS_MAX] for each in made)
    return dict(zip(fields, texts, strict=False))
