"""Words with a bar for how probable each is."""

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy

from app.looks.theme import Theme
from app.words import text

WORD_SHARE = 0.25
"""Part of the width for the words."""
PERCENT_DIGITS = "100 %"
GAP = 8


class Bars(QLabel):
    """A row for each word; a bar that fills the space would be 100 %.  To a screen reader a label, which says all rows.

    Args:
        theme: The colours.
        title: What the accessible name begins with; words and numbers follow: of labels only the name is said.
    """

    def __init__(self, theme: Theme, title: str) -> None:
        super().__init__()
        self._theme = theme
        self._rows: tuple[tuple[str, float], ...] = ()
        self._title = title
        self.setAccessibleName(title)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    @property
    def words(self) -> str:
        """The rows as a sentence."""
        return ", ".join(f"{word} {text.percent(share)}" for word, share in self._rows)

    def show_rows(self, rows: Sequence[tuple[str, float]]) -> None:
        """Draw other rows.

        Args:
            rows: Words, and their shares, 0 to 1.
        """
        self._rows = tuple(rows)
        self.setAccessibleName(f"{self._title}: {self.words}")
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """As high as its rows."""
        return QSize(240, len(self._rows) * self._row_height() + 4)

    def minimumSizeHint(self) -> QSize:
        """As wide as it can be read."""
        return QSize(160, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 - Qt's signature
        """Draw the rows, when Qt asks for it."""
        painter, colours = QPainter(self), self._theme.colours
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        metrics, height = self.fontMetrics(), self._row_height()
        number = metrics.horizontalAdvance(PERCENT_DIGITS)
        left = round(self.width() * WORD_SHARE) + GAP
        room = max(1, self.width() - left - GAP - number - 2)
        for place, (word, share) in enumerate(self._rows):
            top = 2 + place * height
            painter.setPen(QColor(colours.text))
            shown = metrics.elidedText(word, Qt.TextElideMode.ElideRight, left - 2 * GAP)
            painter.drawText(QRectF(2, top, left - GAP, height), Qt.AlignmentFlag.AlignVCenter, shown)
            painter.drawText(
                QRectF(left + room + GAP, top, number, height),
                Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight,
                text.percent(share),
            )
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colours.groove))
            painter.drawRoundedRect(QRectF(left, top + height * 0.3, room, height * 0.4), 3, 3)
            painter.setBrush(QColor(colours.accent if place == 0 else colours.warm))
            painter.drawRoundedRect(QRectF(left, top + height * 0.3, max(6.0, room * share), height * 0.4), 3, 3)
        if self.hasFocus():
            painter.setPen(QColor(colours.accent))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
        painter.end()

    def _row_height(self) -> int:
        return round(1.5 * self.fontMetrics().height())
