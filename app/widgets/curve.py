"""A line over epochs, drawn by hand: one series, with a dashed line to compare it with."""

import math
from collections.abc import Sequence
from itertools import pairwise

from PySide6.QtCore import QPointF, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from app.looks.theme import Theme
from app.words import text

TICKS = 5
HEADROOM = 0.08
"""Room above and below, in parts of the span of values."""
DOTS_MAX = 12
"""With more points than these only the line is drawn."""

LABEL_SHARE = 0.8
"""Part of the chart's width that the name of the dashed line may take."""
LABEL_LINES = 2

Point = tuple[int, float]


class Curve(QLabel):
    """Points of (epoch, value), joined by a line.  To a screen reader a label, which says what is drawn.

    Args:
        theme: The colours.
        title: What its accessible name begins with; first and last value follow: of labels only the name is said.
        empty: What it says while it has no points.
        colour: Name of a field of `app.looks.theme.Colours`.
    """

    def __init__(self, theme: Theme, title: str, *, empty: str, colour: str = "accent") -> None:
        super().__init__()
        self._empty = empty
        self._theme = theme
        self._colour = colour
        self._points: tuple[Point, ...] = ()
        self._level: tuple[str, float] | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.title = title
        self.setAccessibleName(title)
        theme.changed.connect(self.update)

    @property
    def said_instead(self) -> str:
        """What stands in the place of a curve without points; empty: there is one."""
        return "" if self._points else self._empty

    def show_points(self, points: Sequence[Point], *, level: tuple[str, float] | None, said: str) -> None:
        """Draw other points; nothing is drawn where they are the same.

        Args:
            points: In the order of their epochs.
            level: Name and value of what a simpler model reaches: a dashed line; None: none.
            said: The curve as sentences, for people who cannot see it.
        """
        kept = tuple((x, y) for x, y in points if math.isfinite(y))
        if (kept, level) == (self._points, self._level):
            return
        self._points, self._level = kept, level
        self.setAccessibleName(f"{text.full(self.title)} {said}")
        self.setToolTip(said)
        self.update()

    def sizeHint(self) -> QSize:
        """A low chart, for Qt's layouts."""
        return QSize(240, 10 * self.fontMetrics().height())

    def minimumSizeHint(self) -> QSize:
        """As low as it can be read."""
        return QSize(160, 7 * self.fontMetrics().height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 - Qt's signature
        """Draw the curve, when Qt asks for it."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours = self._theme.colours
        if self.hasFocus():
            painter.setPen(QPen(QColor(colours.accent), 2))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 6, 6)
        if not self._points:
            painter.setPen(QColor(colours.muted))
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, self.said_instead)
            painter.end()
            return
        _Drawing(self, painter, self._points, self._level).draw(colours.groove, colours.muted, self._ink())
        painter.end()

    def _ink(self) -> QColor:
        return QColor(str(getattr(self._theme.colours, self._colour)))


class _Drawing:
    """One painting of a curve: its scales, and what is drawn by them."""

    def __init__(
        self, widget: QWidget, painter: QPainter, points: tuple[Point, ...], level: tuple[str, float] | None
    ) -> None:
        self._painter = painter
        self._points = points
        self._level = level
        self._metrics = widget.fontMetrics()
        values = [y for _, y in points] + ([level[1]] if level is not None else [])
        low, high = min(values), max(values)
        room = max(0.05, (high - low) * HEADROOM)
        self._low, self._high = low - room, high + room
        self._first = points[0][0]
        self._last = max(points[-1][0], self._first + 4)
        line = self._metrics.height()
        left = max(self._metrics.horizontalAdvance(f"{value:.1f}") for value in (self._low, self._high)) + 16
        self._area = QRectF(widget.rect()).adjusted(left, line * 0.6, -2 * line, -1.7 * line)

    def draw(self, line: str, muted: str, ink: QColor) -> None:
        self._draw_grid(line, muted)
        if self._level is not None:
            name, value = self._level
            self._painter.setPen(QPen(QColor(muted), 1.3, Qt.PenStyle.DashLine))
            at = self._place(self._first, value).y()
            self._painter.drawLine(QPointF(self._area.left(), at), QPointF(self._area.right(), at))
            room, high = round(self._area.width() * LABEL_SHARE), self._metrics.height()
            size = self._metrics.boundingRect(0, 0, room, LABEL_LINES * high, Qt.TextFlag.TextWordWrap, name).size()
            if size.height() > LABEL_LINES * high or size.width() > room:
                name = self._metrics.elidedText(name, Qt.TextElideMode.ElideRight, room)
                size = self._metrics.size(0, name)
            flags = Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignRight  # a curve comes from the upper left
            self._painter.drawText(self._free(at, QSizeF(size)), flags, name)
        places = [self._place(x, y) for x, y in self._points]
        self._painter.setPen(QPen(ink, 2.2, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin))
        self._painter.drawPolyline(QPolygonF(places))
        self._painter.setPen(Qt.PenStyle.NoPen)
        self._painter.setBrush(ink)
        for place in places if len(places) <= DOTS_MAX else places[-1:]:
            self._painter.drawEllipse(place, 3.5, 3.5)

    def _free(self, at: float, size: QSizeF) -> QRectF:
        """Room for a text above or below a height, at the left or right end, where the curve is farthest from it."""
        high, width = size.height(), size.width() + 4
        places = [self._place(x, y) for x, y in self._points]
        across = [place.x() for place in places]

        def distance(box: QRectF) -> float:
            seen = [box.left() + share * box.width() / 8 for share in range(9)]
            away = [_between(places, x) - box.center().y() for x in seen if across[0] <= x <= across[-1]]
            crosses = any(one < 0 for one in away) and any(one > 0 for one in away)
            return 0.0 if crosses else min(map(abs, away), default=math.inf)

        lefts, tops = (self._area.left() + 4, self._area.right() - width), (at - high - 1, at + 1)
        boxes = [QRectF(left, top, width, high) for top in tops for left in reversed(lefts)]
        return max((box for box in boxes if box.top() >= 0 and box.bottom() <= self._area.bottom()), key=distance)

    def _draw_grid(self, line: str, muted: str) -> None:
        step = nice_step((self._high - self._low) / TICKS)
        value = math.ceil(self._low / step) * step
        height = self._metrics.height()
        while value <= self._high:
            at = self._place(self._first, value).y()
            self._painter.setPen(QPen(QColor(line), 1))
            self._painter.drawLine(QPointF(self._area.left(), at), QPointF(self._area.right(), at))
            self._painter.setPen(QColor(muted))
            decimals = 0 if step >= 1 else 1 if step >= 0.1 else 2
            box = QRectF(0, at - height / 2, self._area.left() - 8, height)
            flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            self._painter.drawText(box, flags, text.decimal(f"{value:.{decimals}f}"))
            value += step
        step_x = max(1, round(nice_step((self._last - self._first) / TICKS)))
        for epoch in range(-(-self._first // step_x) * step_x, self._last + 1, step_x):
            at = self._place(epoch, self._low).x()
            box = QRectF(at - 40, self._area.bottom() + 4, 80, height)
            self._painter.drawText(box, Qt.AlignmentFlag.AlignHCenter, text.count(epoch))

    def _place(self, epoch: int, value: float) -> QPointF:
        across = (epoch - self._first) / (self._last - self._first)
        up = (value - self._low) / (self._high - self._low)
        return QPointF(self._area.left() + across * self._area.width(), self._area.bottom() - up * self._area.height())


def _between(places: Sequence[QPointF], x: float) -> float:
    """The height of the line through these places, from left to right, at `x`."""
    for one, other in pairwise(places):
        if one.x() <= x <= other.x() and other.x() > one.x():
            return one.y() + (other.y() - one.y()) * (x - one.x()) / (other.x() - one.x())
    return places[0].y()


def nice_step(rough: float) -> float:
    """1, 2 or 5 times a power of ten, the first that is no less than `rough`, which is positive."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
