"""Pages that ask the engine for something as soon as it has changed, and once in a while as long as they are seen."""

from collections.abc import Hashable
from typing import Final

from PySide6.QtCore import QTimer
from PySide6.QtGui import QHideEvent

from app.engine.reports import Reports
from app.engine.store import Store
from app.pages.page import Page
from core.api.settings import Wish
from core.api.snapshot import Snapshot

AGAIN_MS: Final = 30_000
"""Pause between two questions where no snapshot tells that the answer is another one."""


class AskingPage(Page):
    """Asks the engine when a snapshot tells of a change, and once in a while as long as it is seen.

    Args:
        store: Has what is shown.
        reports: Has the answers.
        title: Stands above the cards.
        asks: Methods with their parameters.
    """

    def __init__(self, store: Store, reports: Reports, title: str, asks: dict[str, Wish | None]) -> None:
        super().__init__(store, title)
        self.reports = reports
        self._asks = asks
        self._asked_about: Hashable = None
        self.again = QTimer(self, interval=AGAIN_MS)
        """Runs while the page is seen."""
        self.again.timeout.connect(self.ask)
        reports.came.connect(self._came)

    def opened(self) -> None:
        """Show the last answers; the snapshot has had newer ones asked for."""
        self.show_reports()
        self.again.start()

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop asking: nobody sees the page now."""
        super().hideEvent(event)
        self.again.stop()
        self._asked_about = None

    def about(self, snapshot: Snapshot) -> Hashable:
        """What the answers follow from, as far as snapshots tell it: another value has them asked for again."""
        return snapshot.pid

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Ask, where the answers are other ones by now."""
        about = (snapshot.pid, self.about(snapshot)) if self.store.snapshot is not None else None
        if about != self._asked_about:
            self._asked_about = about
            self.ask()

    def ask(self) -> None:
        """Ask the engine, if there is one."""
        if self.store.snapshot is not None:
            for method, params in self._asks.items():
                self.reports.ask(method, params)

    def show_reports(self) -> None:
        """Show the last answers; called only while the page is seen."""

    def _came(self, method: str) -> None:
        if method in self._asks and self.isVisible():
            self.show_reports()
