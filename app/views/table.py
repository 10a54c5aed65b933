"""A table in a card, with fixed widths of columns."""

from typing import Any

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QHeaderView, QTableView

from app.looks.theme import Theme
from app.models.keyed_table import KeyedTable
from app.widgets.labels import card, label
from app.widgets.rows import RowDelegate

PADDING = 6
"""Padding of a cell on each side, as in resources/styles/potluck.qss."""
ROWS_LEAST = 4
"""Rows that are seen at least, however low the window is."""

STRETCHED_LETTERS = 14
"""Room of the column that takes what the others leave, at least."""


class Panel(QFrame):
    """A table with a title, or a sentence where it has no rows."""

    def __init__(self, title: str, empty: str, *, model: KeyedTable[Any], theme: Theme) -> None:
        super().__init__()
        heading = label(title, bold=True)
        self._empty = label(empty, tone="muted")
        self.table = Table(model)
        self.table.setItemDelegate(RowDelegate(theme, self.table))
        self.table.setAccessibleName(title)
        heading.setBuddy(self.table)
        frame, column = card(margin=16)
        column.addWidget(heading)
        inner = QGridLayout()
        inner.addWidget(self.table, 0, 0)
        inner.addWidget(self._empty, 0, 0, alignment=Qt.AlignmentFlag.AlignCenter)
        column.addLayout(inner, stretch=1)
        outer = QGridLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(frame)
        self.count_rows()

    def count_rows(self) -> None:
        """Say so where there are none."""
        rows = self.table.model().rowCount()
        self._empty.setVisible(rows == 0)
        self.table.horizontalHeader().setVisible(rows > 0)


class Table(QTableView):
    """Whole rows, no grid; Tab leaves it.  Columns are as wide as they say, one takes the room that is left."""

    def __init__(self, model: KeyedTable[Any]) -> None:
        super().__init__()
        self._letters = model.letters
        self.setModel(model)
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)
        self.setWordWrap(False)
        self.setSelectionBehavior(QTableView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self.setEditTriggers(QTableView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QTableView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionsClickable(False)
        header.setMinimumSectionSize(10)
        self._measure()

    def changeEvent(self, event: QEvent) -> None:
        """Measure the columns anew for another font."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.FontChange:
            self._measure()

    def _measure(self) -> None:
        """Set heights and widths once; a width that followed the content would cost a look at each cell."""
        header, metrics = self.horizontalHeader(), self.fontMetrics()
        height = round(metrics.height() * 1.75)
        self.verticalHeader().setMinimumSectionSize(1)
        self.verticalHeader().setDefaultSectionSize(height)
        self.setMinimumHeight((ROWS_LEAST + 1) * height)
        for place, letters in enumerate(self._letters):
            mode = QHeaderView.ResizeMode.Fixed if letters else QHeaderView.ResizeMode.Stretch
            header.setSectionResizeMode(place, mode)
            if letters:
                header.resizeSection(place, metrics.horizontalAdvance("0") * letters + 2 * PADDING)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Hide columns on the right where the room does not suffice for all, never the first."""
        super().resizeEvent(event)
        digit = self.fontMetrics().horizontalAdvance("0")
        room = self.viewport().width() - digit * STRETCHED_LETTERS
        for place, letters in enumerate(self._letters):
            room -= digit * letters + 2 * PADDING if letters else 0
            self.setColumnHidden(place, bool(letters and place) and room < 0)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Clear the selection on Escape."""
        if event.key() == Qt.Key.Key_Escape and self.selectionModel().hasSelection():
            self.clearSelection()
            return
        super().keyPressEvent(event)
