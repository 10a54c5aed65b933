"""The last days as a row of bars: how long this computer contributed on each."""

from collections.abc import Sequence
from datetime import date
from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.looks.theme import Theme
from app.words import page_text, text

FULL_S: Final = 3600.0
"""A day of less is drawn as a part of this, so that five minutes do not look like a whole day."""


class DaysPicture(QWidget):
    """One bar a day; today is the last one.

    Args:
        theme: The colours.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._days: tuple[tuple[date, float], ...] = ()
        self._told: list[tuple[date, str]] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        theme.changed.connect(self.update)

    def show_days(self, days: Sequence[tuple[date, float]]) -> None:
        """Show other days.

        Args:
            days: Each with its seconds of contributing, the oldest first.
        """
        told = [(day, text.duration(seconds)) for day, seconds in days]
        if told != self._told:  # not for each second of today
            self._told, self._days = told, tuple(days)
            said = page_text.days([seconds for _, seconds in days])
            self.setAccessibleName(said)
            self.setToolTip(said)
            self.update()

    def sizeHint(self) -> QSize:
        """Five lines of text high."""
        return QSize(200, 5 * self.fontMetrics().height())

    def minimumSizeHint(self) -> QSize:
        """As low as bars can be told apart."""
        return QSize(140, 4 * self.fontMetrics().height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 - Qt's signature
        """Draw the bars, when Qt asks for it."""
        if not self._days:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        colours, line = self._theme.colours, self.fontMetrics().height()
        room = self.height() - line - 6.0
        step = self.width() / len(self._days)
        most = max(FULL_S, *(seconds for _, seconds in self._days))
        for place, (_, seconds) in enumerate(self._days):
            left, width = place * step + step * 0.15, step * 0.7
            radius = min(4.0, width / 2)
            painter.setBrush(QColor(colours.groove))
            painter.drawRoundedRect(QRectF(left, room - 3, width, 3), 1.5, 1.5)
            if seconds > 0:
                height = max(4.0, room * min(1.0, seconds / most))
                painter.setBrush(QColor(colours.accent))
                painter.drawRoundedRect(QRectF(left, room - height, width, height), radius, radius)
        painter.setPen(QColor(colours.muted))
        box = QRectF(0, self.height() - line - 1.0, self.width(), line)
        painter.drawText(box, Qt.AlignmentFlag.AlignLeft, page_text.day(self._days[0][0]))
        painter.drawText(box, Qt.AlignmentFlag.AlignRight, text.tr("today"))
        painter.end()
