"""How well a model does on what nobody learns from: between a task, a worker's frames and what people see."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

WRONG: Final = "{said}, not: {meant}"
"""A wrong word in a blank, with the right one."""


class Score(msgspec.Struct, frozen=True):
    """What a model reaches, or one that knows only one thing."""

    loss: float
    """In the task's unit."""
    right: float | None = None
    """The share of its guesses that are right; None: the task has none."""


class FirstScore(msgspec.Struct, frozen=True):
    """What the model could do when somebody came."""

    epoch: Annotated[int, Meta(ge=0)]
    score: Score


class WordGuess(msgspec.Struct, frozen=True):
    """A word for a blank, and how probable it is."""

    text: str
    probability: Annotated[float, Meta(ge=0, le=1.001)]


class Filled(msgspec.Struct, frozen=True):
    """A piece of held-out text with blanks that a model has filled."""

    plain: tuple[str, ...]
    """The text before, between and after the blanks: one more than there are blanks."""
    said: tuple[str, ...]
    """What the model put into each blank."""
    meant: tuple[str, ...]
    """What stands there."""

    @property
    def text(self) -> str:
        """All of it in a line, a wrong word with the right one: "gives [back] the [name, not: value]"."""
        return self.told(WRONG)

    def told(self, wrong: str) -> str:
        """The same with other words for a wrong one.

        Args:
            wrong: With the fields `said` and `meant`.
        """
        words = zip(self.said, self.meant, strict=True)
        blanks = [
            f"[{said}]" if said == meant else f"[{wrong.format(said=said, meant=meant)}]" for said, meant in words
        ]
        return "".join(part for pair in zip(self.plain, [*blanks, ""], strict=True) for part in pair)
