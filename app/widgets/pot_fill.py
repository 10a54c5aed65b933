"""The large pot: as full as the collaboration is on its way to the model's next step."""

from typing import Final

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.looks.theme import Theme

DRAWN: Final = 128.0
"""Side of the square in whose coordinates the pot is drawn, as in resources/icons/pot-*.svg."""
TOP, BOTTOM = 62.0, 116.0
"""Top and bottom of the inside, where the fill is."""
LINES_LEAST, LINES_MOST = 11.0, 22.0
"""Height in lines of text."""
NETWORK: Final = (((64, 50), (64, 16)), ((64, 16), (34, 32)), ((64, 16), (94, 32)), ((34, 32), (64, 50)),
                  ((94, 32), (64, 50)))  # fmt: skip
RIM, FACE = "#B84B25", "#4A2114"
BODY = "#F3B79B"
OTHERS = "#E2673B"
MINE = "#14796A"


class PotFill(QWidget):
    """A pot with two layers: mine below, the others' above.

    Its accessible name says the shares; the colours stand in a legend beside it.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._mood = "awake"
        self._shares = (0.0, 0.0)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.grow(0)
        theme.changed.connect(self.update)

    @property
    def shares(self) -> tuple[float, float]:
        """The part of the pot that is full, and the part that this computer filled; 0 to 1."""
        return self._shares

    def show_level(self, whole: float, mine: float, *, mood: str) -> None:
        """Fill the pot.

        Args:
            whole: How much of the next step is gathered, 0 to 1.
            mine: How much this computer has given, of the same whole; at most `whole` is drawn.
            mood: "awake", "asleep" or "sad".
        """
        whole = round(min(1.0, max(0.0, whole)), 3)
        shares = (whole, round(min(whole, max(0.0, mine)), 3))
        if (shares, mood) != (self._shares, self._mood):
            self._shares, self._mood = shares, mood
            self.update()

    def grow(self, room: int) -> None:
        """Be as high as there is room for, in points, within bounds that follow from the font."""
        line = self.fontMetrics().height()
        side = round(min(LINES_MOST * line, max(LINES_LEAST * line, room)))
        self.setFixedSize(side, side)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 - Qt's signature
        """Draw the pot, when Qt asks for it."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.scale(self.width() / DRAWN, self.height() / DRAWN)
        if self._mood == "asleep":
            self._draw_lid(painter)
        else:
            self._draw_network(painter)
        painter.setPen(QPen(QColor(RIM), 7))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for left in (5.0, 97.0):
            painter.drawRoundedRect(QRectF(left, 60, 26, 14), 7, 7)
        body = _body()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.fillPath(body, QColor(BODY))
        painter.setClipPath(body)
        whole, mine = self._shares
        for share, colour in ((whole, OTHERS), (mine, MINE)):
            height = (BOTTOM + 2 - TOP) * share
            painter.fillRect(QRectF(0, BOTTOM + 2 - height, DRAWN, height), QColor(colour))
        painter.setClipping(False)
        painter.setBrush(QColor(RIM))
        painter.drawRoundedRect(QRectF(16, 52, 96, 13), 6.5, 6.5)
        self._draw_face(painter)
        painter.end()

    def _draw_lid(self, painter: QPainter) -> None:
        lid = QPainterPath(QPointF(22, 53))
        lid.cubicTo(26, 32, 102, 32, 106, 53)
        painter.fillPath(lid, QColor(OTHERS))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(RIM))
        painter.drawEllipse(QPointF(64, 33), 7, 7)

    def _draw_network(self, painter: QPainter) -> None:
        colour = QColor(self._theme.colours.accent if self._mood == "awake" else self._theme.colours.off)
        painter.setPen(QPen(colour, 4.5, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        for start, end in NETWORK:
            painter.drawLine(QPointF(*start), QPointF(*end))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        for x, y in ((64, 15), (34, 32), (94, 32)):
            painter.drawEllipse(QPointF(x, y), 8.5, 8.5)

    def _draw_face(self, painter: QPainter) -> None:
        """Dark on a pale disc, so that it is seen on every layer."""
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(255, 255, 255, 120))
        painter.drawRoundedRect(QRectF(40, 73, 48, 34), 17, 17)
        pen = QPen(QColor(FACE), 4.2, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap)
        if self._mood == "asleep":
            painter.setPen(pen)
            for x in (46.0, 70.0):
                painter.drawArc(QRectF(x, 80, 12, 8), 180 * 16, 180 * 16)
        else:
            painter.setBrush(QColor(FACE))
            for x in (52.0, 76.0):
                painter.drawEllipse(QPointF(x, 84), 4.2, 4.2)
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if self._mood == "sad":
            painter.drawArc(QRectF(55, 96, 18, 12), 30 * 16, 120 * 16)
        else:
            painter.drawArc(QRectF(55, 88, 18, 12), 210 * 16, 120 * 16)


def _body() -> QPainterPath:
    body = QPainterPath(QPointF(22, 60))
    body.lineTo(106, 60)
    body.lineTo(106, 90)
    body.arcTo(QRectF(50, 62, 56, 56), 0, -90)
    body.lineTo(50, 118)
    body.arcTo(QRectF(22, 62, 56, 56), -90, -90)
    body.closeSubpath()
    return body
