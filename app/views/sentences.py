"""Sentences with blanks, as the shared model fills them now."""

from collections.abc import Sequence
from typing import Final

import msgspec
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.widgets.labels import sentence
from app.words import text
from core.api.score import Filled

SPACE: Final = "␣"
"""Stands for a word that is nothing but a space."""


class Sentences(QWidget):
    """Hidden until the model has filled any.

    Args:
        shown: How many of them are shown.
    """

    def __init__(self, shown: int) -> None:
        super().__init__()
        self._lines = [sentence(tone="muted") for _ in range(shown)]
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        for line in self._lines:
            column.addWidget(line)
        self.hide()

    @property
    def words(self) -> list[str]:
        """The sentences as they are shown."""
        return [line.text() for line in self._lines if not line.isHidden()]

    def show_filled(self, filled: Sequence[Filled]) -> None:
        """Show the first of these."""
        said = [_worded(one) for one in filled[: len(self._lines)]]
        for line, words in zip(self._lines, [*said, *[""] * len(self._lines)], strict=False):
            line.setText(words)
            line.setVisible(bool(words))
        self.setVisible(bool(said))


def _worded(one: Filled) -> str:
    seen = msgspec.structs.replace(one, said=tuple(map(_seen, one.said)), meant=tuple(map(_seen, one.meant)))
    return text.one_line(seen.told(text.tr("{said}, not: {meant}")))


def _seen(word: str) -> str:
    return word if word.strip() else SPACE
