"""Peers, this computer's reachability and the leaderboard: in one column, or behind tabs in a low window."""

from PySide6.QtCore import QAbstractItemModel, Qt
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QHeaderView, QTabBar, QTableView, QVBoxLayout, QWidget

from app import text
from app.models.tables import ROLE_COLUMN, leaderboard_table, peers_table
from app.theme import Theme
from app.widgets.labels import card, label, sentence
from app.widgets.rows import RowDelegate
from core.api.snapshot import Snapshot

ROWS_FOR_BOTH = 15.5
"""Lines of a table that must fit for both tables to be shown."""

WIDTH_LEAST = 48
"""Letters beside each other, below which a table cannot be read."""
WIDTH_FOR_ROLES = 62
"""Letters that must fit beside each other for the column of roles to be shown."""


class People(QWidget):
    """The two tables, following the snapshots."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._peers = peers_table(self)
        self._leaderboard = leaderboard_table(self)
        self._upper = Panel(text.tr("Who is here"), text.tr("Nobody yet."), model=self._peers, stretch=0, theme=theme)
        self._lower = Panel(
            text.tr("Leaderboard"),
            text.tr("It fills with the first epoch."),
            model=self._leaderboard,
            stretch=1,
            theme=theme,
        )
        self._tabs = QTabBar(drawBase=False, expanding=False)
        self._tabs.addTab(text.tr("&Who is here"))
        self._tabs.addTab(text.tr("&Leaderboard"))
        self._tabs.setAccessibleName(text.tr("People"))
        self._low: bool | None = None
        self.setMinimumWidth(WIDTH_LEAST * self.fontMetrics().averageCharWidth())
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self._tabs)
        column.addWidget(self._upper, stretch=1)
        column.addWidget(self._lower, stretch=1)
        self._tabs.currentChanged.connect(self._arrange)
        self._arrange()

    @property
    def reach(self) -> str:
        """How others reach this computer, as shown; empty: nothing is known of it."""
        return self._upper.said

    @property
    def tables(self) -> tuple[QTableView, QTableView]:
        """The tables of peers and of contributions."""
        return self._upper.table, self._lower.table

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show the peers and contributions of a snapshot."""
        self._peers.follow(snapshot.peers)
        self._upper.say(text.reach(snapshot))
        self._leaderboard.follow(snapshot.leaderboard)
        self._upper.count_rows()
        self._lower.count_rows()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Choose between column and tabs, when Qt resizes it."""
        super().resizeEvent(event)
        narrow = event.size().width() < WIDTH_FOR_ROLES * self.fontMetrics().averageCharWidth()
        self._upper.table.setColumnHidden(ROLE_COLUMN, narrow)
        low = event.size().height() < ROWS_FOR_BOTH * self.fontMetrics().height() * 1.75
        if low != self._low:
            self._low = low
            self._arrange()

    def _arrange(self) -> None:
        low = bool(self._low)
        self._tabs.setVisible(low)
        for panel, place in ((self._upper, 0), (self._lower, 1)):
            panel.setVisible(not low or self._tabs.currentIndex() == place)
            panel.show_title(not low)


class Panel(QFrame):
    """A table with a title, or a sentence where it has no rows."""

    def __init__(self, title: str, empty: str, *, model: QAbstractItemModel, stretch: int, theme: Theme) -> None:
        super().__init__()
        self._title = label(title, bold=True)
        self._empty = label(empty, tone="muted")
        self._words = sentence(tone="muted", factor=0.92)
        self._words.hide()
        self.table = Table(model, stretch=stretch)
        self.table.setItemDelegate(RowDelegate(theme, self.table))
        self.table.setAccessibleName(title)
        self._title.setBuddy(self.table)
        frame, column = card(margin=10)
        column.addWidget(self._title)
        inner = QGridLayout()
        inner.addWidget(self.table, 0, 0)
        inner.addWidget(self._empty, 0, 0, alignment=Qt.AlignmentFlag.AlignCenter)
        column.addLayout(inner, stretch=1)
        column.addWidget(self._words)
        outer = QGridLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(frame)
        self.count_rows()

    def show_title(self, shown: bool) -> None:  # noqa: FBT001 - like setVisible
        """Or leave it to a tab."""
        self._title.setVisible(shown)

    @property
    def said(self) -> str:
        """The sentence below the table, as shown."""
        return self._words.text()

    def say(self, words: str) -> None:
        """Show sentences below the table."""
        self._words.setText(words)
        self._words.setVisible(bool(words))

    def count_rows(self) -> None:
        """Say so where there are none."""
        rows = self.table.model().rowCount()
        self._empty.setVisible(rows == 0)
        self.table.horizontalHeader().setVisible(rows > 0)


class Table(QTableView):
    """Whole rows, no grid, one column takes the room that is left; Tab leaves it."""

    def __init__(self, model: QAbstractItemModel, *, stretch: int) -> None:
        super().__init__()
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
        self.verticalHeader().setDefaultSectionSize(round(self.fontMetrics().height() * 1.75))
        self.verticalHeader().setMinimumSectionSize(1)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionsClickable(False)
        header.setMinimumSectionSize(10)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(stretch, QHeaderView.ResizeMode.Stretch)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Of Qt: Escape clears the selection."""
        if event.key() == Qt.Key.Key_Escape and self.selectionModel().hasSelection():
            self.clearSelection()
            return
        super().keyPressEvent(event)
