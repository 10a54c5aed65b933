"""Sentences with blanks, as the shared model fills them now."""

from collections.abc import Iterator, Sequence

from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.looks.theme import Theme
from app.widgets.chips import Chip, Chips
from core.api.score import Filled


class Sentences(QWidget):
    """Hidden until the model has filled any.

    Args:
        shown: How many of them are shown.
        theme: The colours.
    """

    def __init__(self, shown: int, theme: Theme) -> None:
        super().__init__()
        self._lines = [Chips(theme) for _ in range(shown)]
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        for line in self._lines:
            column.addWidget(line)
        self.hide()

    @property
    def words(self) -> list[str]:
        """The sentences as they are said."""
        return [line.words for line in self._lines if not line.isHidden()]

    def show_filled(self, filled: Sequence[Filled]) -> None:
        """Show the first of these."""
        for place, line in enumerate(self._lines):
            parts = list(_parts(filled[place])) if place < len(filled) else []
            line.show_parts(parts)
            line.setVisible(bool(parts))
        self.setVisible(bool(filled))


def _parts(one: Filled) -> Iterator[str | Chip]:
    """Plain text and chips in turn."""
    for plain, said, meant in zip(one.plain, one.said, one.meant, strict=False):
        yield plain
        yield Chip(said, meant)
    yield one.plain[-1]
