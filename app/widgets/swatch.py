"""A small square of a colour, for a legend."""

from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget


class Swatch(QWidget):
    """Silent to a screen reader, which reads the words beside it.

    Args:
        colour: Such as "#14796A".
    """

    def __init__(self, colour: str) -> None:
        super().__init__()
        self._colour = QColor(colour)
        side = round(self.fontMetrics().height() * 0.75)
        self.setFixedSize(side, side)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 - Qt's signature
        """Draw it, when Qt asks for it."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(self._colour)
        painter.setBrush(self._colour)
        painter.drawRoundedRect(self.rect().adjusted(0, 0, -1, -1), 3, 3)
        painter.end()
