"""The hours of a week as a picture that one paints, with the mouse or with the keyboard."""

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QPersistentModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QSizePolicy,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from app.looks.theme import Theme
from app.models.week import HOUR_ROLE, WeekTable
from app.widgets.field import announce
from app.widgets.labels import sized
from app.words import text

Index = QModelIndex | QPersistentModelIndex
CELL_MIN = 20
"""Width of an hour, in points."""


class WeekGrid(QTableView):
    """Days below each other, hours beside each other; what is filled is open.

    The mouse paints: where it is pressed it turns the hour, and what it is drawn over becomes the same.  Arrow keys
    move, Shift marks, Space turns what is marked.
    """

    def __init__(self, table: WeekTable, theme: Theme) -> None:
        super().__init__()
        self._table = table
        self._brush: bool | None = None
        """Whether the pressed mouse opens or closes hours; None: it is not pressed."""
        self._last: tuple[int, int] | None = None
        self.setModel(table)
        self.setItemDelegate(_Hour(theme, self))
        self.setShowGrid(False)
        self.setCornerButtonEnabled(False)
        self.setTabKeyNavigation(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(text.tr("Hours of the week"))
        self.setAccessibleDescription(
            text.tr("Arrow keys move, Shift and arrow keys mark, Space opens or closes what is marked.")
        )
        for header in (self.horizontalHeader(), self.verticalHeader()):
            header.setMinimumSectionSize(CELL_MIN)
            header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
            header.setSectionsClickable(True)
            header.setHighlightSections(False)
        self.horizontalHeader().setFont(sized(self.font(), 0.85))
        self.horizontalHeader().sectionPressed.disconnect()
        self.verticalHeader().sectionPressed.disconnect()
        self.horizontalHeader().sectionClicked.connect(lambda hour: self._turn([(day, hour) for day in range(7)]))
        self.verticalHeader().sectionClicked.connect(lambda day: self._turn([(day, hour) for hour in range(24)]))
        self.setCurrentIndex(table.index(0, 0))
        self.clearSelection()

    def minimumSizeHint(self) -> QSize:
        """Size with the smallest cells, for Qt's layouts."""
        days, hours = self.verticalHeader().sizeHint(), self.horizontalHeader().sizeHint()
        row = max(CELL_MIN, round(self.fontMetrics().height() * 1.15))
        return QSize(days.width() + 24 * CELL_MIN + 4, hours.height() + 7 * row + 4)

    def sizeHint(self) -> QSize:
        """Size with cells of a handy size, for Qt's layouts."""
        least = self.minimumSizeHint()
        return QSize(least.width() + 24 * 6, least.height() + 7 * 5)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Paint with the keyboard, when Qt reports a key."""
        if event.key() == Qt.Key.Key_Space:
            marked = [(index.row(), index.column()) for index in self.selectedIndexes()]
            current = self.currentIndex()
            self._turn(marked or [(current.row(), current.column())])
            return
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            event.ignore()  # the dialog's
            return
        super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin to paint, when Qt reports a press."""
        cell = self._cell(event)
        if event.button() is not Qt.MouseButton.LeftButton or cell is None:
            return
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        self.selectionModel().setCurrentIndex(
            self._table.index(*cell),
            QItemSelectionModel.SelectionFlag.Clear | QItemSelectionModel.SelectionFlag.Current,
        )
        self._brush, self._last = not self._table.is_open(*cell), cell
        self._table.paint([cell], is_open=self._brush)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Paint on, when Qt reports a move."""
        cell = self._cell(event)
        if self._brush is None or self._last is None or cell is None or cell == self._last:
            return
        self._table.paint(_between(self._last, cell), is_open=self._brush)
        self._last = cell

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: ARG002 - Qt's signature
        """End painting, when Qt reports a release."""
        self._brush = self._last = None

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Handle a double click as two presses."""
        self.mousePressEvent(event)

    def _cell(self, event: QMouseEvent) -> tuple[int, int] | None:
        index = self.indexAt(event.position().toPoint())
        return (index.row(), index.column()) if index.isValid() else None

    def _turn(self, cells: list[tuple[int, int]]) -> None:
        """Open all of them; close them if they are open already."""
        self._table.paint(cells, is_open=not all(self._table.is_open(*cell) for cell in cells))
        announce(self, self._table.index(*cells[-1]).data(Qt.ItemDataRole.AccessibleTextRole))


class _Hour(QStyledItemDelegate):
    """Draws one hour: filled where it is open, with a frame where the keyboard is."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw an hour, for Qt's views."""
        colours, cell = self._theme.colours, QRectF(option.rect).adjusted(1, 1, -1, -1)
        on = bool(option.state & QStyle.StateFlag.State_Enabled)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colours.groove))
        painter.drawRoundedRect(cell, 3, 3)
        painter.setBrush(QColor(colours.accent if on else colours.off))
        for start, end in index.data(HOUR_ROLE):
            filled = QRectF(cell.left() + start * cell.width(), cell.top(), (end - start) * cell.width(), cell.height())
            painter.drawRoundedRect(filled, 3, 3)
        view = self.parent()
        assert isinstance(view, WeekGrid)
        here = view.hasFocus() and view.currentIndex() == index
        if here or option.state & QStyle.StateFlag.State_Selected:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(colours.text), 2.5 if here else 1.2))
            painter.drawRoundedRect(cell, 3, 3)
        painter.restore()


def _between(first: tuple[int, int], last: tuple[int, int]) -> list[tuple[int, int]]:
    """The hours on the way of a mouse that moves fast, the last one included."""
    steps = max(abs(last[0] - first[0]), abs(last[1] - first[1]))
    return [
        (
            round(first[0] + (last[0] - first[0]) * step / steps),
            round(first[1] + (last[1] - first[1]) * step / steps),
        )
        for step in range(1, steps + 1)
    ]
