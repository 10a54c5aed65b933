"""The legend of the loss curve: each series with a sample of its shape."""

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app import text
from app.theme import Theme
from app.widgets.labels import label


class Legend(QWidget):
    """A row of samples and names."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        self._entries = {shape: _Entry(theme, shape) for shape in ("line", "points", "dashes")}
        for entry in self._entries.values():
            row.addWidget(entry)
        row.addStretch(1)
        self._entries["line"].say(text.tr("Training"))
        self._entries["points"].say(text.tr("Held-out"))

    def show_series(self, *, training: bool, heldout: bool, lowest: tuple[str, float] | None) -> None:
        """Name what is drawn, and what the lowest baseline is."""
        self._entries["line"].setVisible(training)
        self._entries["points"].setVisible(heldout)
        self._entries["dashes"].setVisible(lowest is not None and (training or heldout))
        if lowest is not None:
            self._entries["dashes"].say(text.baseline(*lowest))


class _Entry(QWidget):
    def __init__(self, theme: Theme, shape: str) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 8, 0)
        row.setSpacing(5)
        self._name = label(factor=0.95, tone="muted")
        row.addWidget(_Sample(theme, shape))
        row.addWidget(self._name)

    def say(self, name: str) -> None:
        self._name.setText(name)


class _Sample(QWidget):
    """A short piece of a line, as in the chart."""

    def __init__(self, theme: Theme, shape: str) -> None:
        super().__init__()
        self._theme = theme
        self._shape = shape
        self.setFixedSize(self.sizeHint())

    def sizeHint(self) -> QSize:
        return QSize(22, 12)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002 - Qt's signature
        colours, middle = self._theme.colours, self.height() / 2
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        match self._shape:
            case "line":
                painter.setPen(QPen(QColor(colours.accent), 2.5))
            case "points":
                painter.setPen(QPen(QColor(colours.warm), 1))
            case _:
                painter.setPen(QPen(QColor(colours.muted), 1.5, Qt.PenStyle.DashLine))
        painter.drawLine(QPointF(1, middle), QPointF(self.width() - 1, middle))
        if self._shape == "points":
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colours.warm))
            painter.drawEllipse(QPointF(self.width() / 2, middle), 3.5, 3.5)
        painter.end()
