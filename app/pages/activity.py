"""Activity: what happened, in sentences, also in earlier runs."""

from collections.abc import Hashable
from typing import Final

from PySide6.QtCore import QModelIndex
from PySide6.QtWidgets import QTabBar

from app.engine.reports import Reports
from app.engine.store import Store
from app.looks.theme import Theme
from app.models.gift import notices_table
from app.pages.asking import AskingPage
from app.views.table import Panel
from app.widgets.labels import sentence
from app.words import page_text, text
from core.api.snapshot import Notice, Snapshot

FILTERS: Final = ("all", "state", "rounds", "problems")


class ActivityPage(AskingPage):
    """A table of notices with a filter above it, and the chosen one in full below it."""

    needs_collaboration = False

    def __init__(self, store: Store, reports: Reports, theme: Theme) -> None:
        tr = text.tr
        super().__init__(store, reports, tr("Activity"), {"activity": None})
        self.filter = QTabBar(drawBase=False, expanding=False)
        for title in (tr("Everything"), tr("When it ran"), tr("Rounds"), tr("Warnings")):
            self.filter.addTab(title)
        self.filter.setAccessibleName(tr("Which of it"))
        self._model = notices_table(self)
        self.log = Panel(tr("What happened"), tr("Nothing of this kind."), model=self._model, theme=theme)
        self._whole = sentence(tone="muted")
        self._whole.hide()
        self.column.addWidget(self.filter)
        self.column.addWidget(self.log, stretch=1)
        self.column.addWidget(self._whole)
        self.filter.currentChanged.connect(self.show_reports)
        self.log.table.selectionModel().currentRowChanged.connect(self._choose)

    @property
    def words(self) -> str:
        """The chosen notice in full, as it is shown."""
        return self._whole.text()

    def about(self, snapshot: Snapshot) -> Hashable:
        """The answers follow from all that has happened."""
        return snapshot.notice_last

    def show_reports(self) -> None:
        """Show the notices that the filter lets through, the newest first."""
        which = FILTERS[self.filter.currentIndex()]
        shown = [one for one in reversed(self.reports.activity) if _passes(one, which)]
        self._model.follow(shown)
        self.log.count_rows()

    def _choose(self, current: QModelIndex) -> None:
        rows = self._model.rows
        words = page_text.notice(rows[current.row()]) if 0 <= current.row() < len(rows) else ""
        self._whole.setText(words)
        self._whole.setVisible(bool(words))


def _passes(notice: Notice, which: str) -> bool:
    match which:
        case "state":
            return notice.code.startswith(("verdict.", "engine."))
        case "rounds":
            return notice.code.startswith("round.")
        case "problems":
            return notice.level != "info"
    return True
