"""A text in which some words stand on a ground of their own: what a model has put into blanks."""

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import Qt

from app.looks.theme import Colours, Theme
from app.widgets.labels import WholeLabel
from app.words import text
from core.api.sentence import later

SPACE: Final = later("(space)")
"""Stands for a word that is nothing but a space."""


@dataclass(frozen=True, slots=True)
class Chip:
    """A word that a model has put into a blank.

    Attributes:
        said: The model's.
        meant: What stands there; the same where the model was right, or where nobody knows.
    """

    said: str
    meant: str


class Chips(WholeLabel):
    """Words and chips in lines.  A word that was meant is crossed by no line, so that colours are not all that tells.

    Args:
        theme: The colours.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._parts: tuple[str | Chip, ...] = ()
        self.setTextFormat(Qt.TextFormat.RichText)
        theme.changed.connect(self._draw)

    @property
    def words(self) -> str:
        """All of it as a sentence, as a screen reader says it."""
        return text.one_line("".join(map(_spoken, self._parts)))

    def show_parts(self, parts: Iterable[str | Chip]) -> None:
        """Show another text: plain words, which may be a stranger's, and chips."""
        shown = tuple(parts)
        if shown != self._parts:
            self._parts = shown
            self.setAccessibleName(self.words)
            self._draw()

    def _draw(self) -> None:
        self.setText(markup(self._parts, self._theme.colours))


def markup(parts: Sequence[str | Chip], colours: Colours) -> str:
    """The text as Qt's labels read it; nothing in a word counts as markup."""
    return "".join(_plain(part) if isinstance(part, str) else _chip(part, colours) for part in parts)


def _chip(chip: Chip, colours: Colours) -> str:
    good = f"background-color:{colours.selected}; color:{colours.text}"
    if chip.said == chip.meant:
        return f'<span style="{good}">&nbsp;{_word(chip.said)}&nbsp;</span>'
    bad = f"background-color:{colours.problem_ground}; color:{colours.problem}; text-decoration:line-through"
    said = f'<span style="{bad}">&nbsp;{_word(chip.said)}&nbsp;</span>'
    return f'{said}&nbsp;<span style="{good}">&nbsp;{_word(chip.meant)}&nbsp;</span>'


def _spoken(part: str | Chip) -> str:
    if isinstance(part, str):
        return part
    said, meant = _seen(part.said), _seen(part.meant)
    told = said if said == meant else text.tr("{said}, not: {meant}", said, meant)
    return f"[{told}]"


def _word(word: str) -> str:
    return _plain(_seen(word)).replace(" ", "&nbsp;")


def _seen(word: str) -> str:
    return text.one_line(word) or text.tr(SPACE)


def _plain(words: str) -> str:
    return html.escape("".join(letter if letter.isprintable() else " " for letter in words))
