"""What the shared model can do now: how much it guesses right, and a few sentences as it fills them."""

from PySide6.QtWidgets import QVBoxLayout, QWidget

from app import text
from app.widgets.labels import Elided
from core.api.snapshot import LossView

SHOWN = 3


class Guesses(QWidget):
    """Hidden until this computer has looked at the held-out text."""

    def __init__(self) -> None:
        super().__init__()
        self._right = Elided()
        self._filled = [Elided(tone="muted") for _ in range(SHOWN)]
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        for line in (self._right, *self._filled):
            column.addWidget(line)
        self.hide()

    def show_meaning(self, meaning: LossView) -> None:
        """Show this computer's last look at the held-out text."""
        right = text.guessing(meaning)
        said = [text.one_line(filled.text) for filled in meaning.filled[:SHOWN]]
        self._right.setText(right)
        for line, words in zip(self._filled, [*said, *[""] * SHOWN], strict=False):
            line.setText(words)
            line.setToolTip(words)
            line.setVisible(bool(words))
        self._right.setToolTip(right)
        self.setVisible(bool(right))
