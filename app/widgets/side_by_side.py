"""Two parts beside each other, or one below the other where the window is narrow."""

from typing import Final

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QWidget

LETTERS_LEAST: Final = 100
"""The least width of both parts together, in digits of the font: in less, tables hide columns and cut words."""


class SideBySide(QWidget):
    """Shares its width between two parts.

    Args:
        first: On the left, or above.
        second: On the right, or below.
        spacing: Between them, points.
        stretch: The parts' shares of the width.
    """

    def __init__(self, first: QWidget, second: QWidget, *, spacing: int, stretch: tuple[int, int] = (1, 1)) -> None:
        super().__init__()
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(spacing)
        for part, share in zip((first, second), stretch, strict=True):
            self._row.addWidget(part, stretch=share)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give each part the whole width where half of it is too little."""
        super().resizeEvent(event)
        narrow = event.size().width() < LETTERS_LEAST * self.fontMetrics().horizontalAdvance("0")
        ways = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        self._row.setDirection(ways[narrow])
