"""The big switch between contributing and pausing."""

from PySide6.QtCore import Property, QPoint, QPointF, QPropertyAnimation, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QApplication, QCheckBox, QStyle, QWidget

from app.looks.theme import Theme

SLIDE_MS = 140


def duration_ms(widget: QWidget, wanted_ms: int) -> int:
    """How long a movement of `widget` takes: 0 where the person asked the system for reduced motion."""
    hints = QApplication.styleHints()
    preference = getattr(hints.accessibility(), "motionPreference", None)  # from Qt 6.12 on
    reduced = preference is not None and preference().name == "ReducedMotion"
    animates = widget.style().styleHint(QStyle.StyleHint.SH_Widget_Animation_Duration, None, widget) > 0
    return wanted_ms if animates and not reduced else 0


class Switch(QCheckBox):
    """A check box that looks like a switch: a track and a knob that carries a sign, so that colour is not all.

    It takes its size from the font.  Space and Enter flip it.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._place = 0.0
        self._slide = QPropertyAnimation(self, b"place", self)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFixedSize(self.sizeHint())
        self.toggled.connect(self.glide)
        theme.changed.connect(self.update)

    def _get_place(self) -> float:
        return self._place

    def _set_place(self, value: float) -> None:
        self._place = value
        self.update()

    place = Property(float, _get_place, _set_place)
    """Place of the knob: 0 is off, 1 is on."""

    def sizeHint(self) -> QSize:
        """Size of the switch, for Qt's layouts."""
        height = round(self.fontMetrics().height() * 3)
        return QSize(round(height * 1.82), height)

    def hitButton(self, pos: QPoint) -> bool:
        """Whether a click counts: all of the switch can be clicked."""
        return self.rect().contains(pos)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Flip on Space and Enter, when Qt reports a key."""
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self.click()
            return
        super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 - Qt's signature
        """Draw the switch, when Qt asks for it."""
        colours = self._theme.colours
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        outer = QRectF(self.rect()).adjusted(1.5, 1.5, -1.5, -1.5)
        if self.hasFocus():
            painter.setPen(QPen(QColor(colours.muted), 2))
            painter.drawRoundedRect(outer, outer.height() / 2, outer.height() / 2)
        track = outer.adjusted(3.5, 3.5, -3.5, -3.5)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setOpacity(1.0 if self.isEnabled() else 0.45)
        painter.setBrush(_mixed(colours.off, colours.accent, self._place))
        painter.drawRoundedRect(track, track.height() / 2, track.height() / 2)
        radius = track.height() / 2 - 4
        left, right = track.left() + 4 + radius, track.right() - 4 - radius
        centre = QPointF(left + (right - left) * self._place, track.center().y())
        painter.setBrush(QColor("#FFFFFF"))
        painter.drawEllipse(centre, radius, radius)
        self._draw_sign(painter, centre, radius)
        painter.end()

    @property
    def _sliding(self) -> bool:
        return self._slide.state() is QPropertyAnimation.State.Running

    def _draw_sign(self, painter: QPainter, centre: QPointF, radius: float) -> None:
        """A check mark when on, two bars when off."""
        ink = QColor("#14796A") if self.isChecked() else QColor("#5B534C")
        pen = QPen(ink, radius * 0.24, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin)
        painter.setPen(pen)
        step = radius * 0.42
        if self.isChecked():
            low = centre + QPointF(-0.25 * step, 0.8 * step)
            painter.drawPolyline([centre + QPointF(-1.1 * step, 0), low, centre + QPointF(1.15 * step, -0.8 * step)])
            return
        for side in (-0.6, 0.6):
            painter.drawLine(centre + QPointF(side * step, -step), centre + QPointF(side * step, step))

    def glide(self) -> None:
        """Move the knob to where it belongs."""
        target = 1.0 if self.isChecked() else 0.0
        if self._place == target or (self._sliding and self._slide.endValue() == target):
            return
        self._slide.stop()
        time_ms = duration_ms(self, SLIDE_MS) if self.isVisible() else 0
        if time_ms == 0:
            self._set_place(target)
            return
        self._slide.setDuration(time_ms)
        self._slide.setStartValue(self._place)
        self._slide.setEndValue(target)
        self._slide.start()


def _mixed(first: str, second: str, share: float) -> QColor:
    one, two = QColor(first), QColor(second)
    return QColor.fromRgbF(
        one.redF() + (two.redF() - one.redF()) * share,
        one.greenF() + (two.greenF() - one.greenF()) * share,
        one.blueF() + (two.blueF() - one.blueF()) * share,
    )
