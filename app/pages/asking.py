"""Pages that ask the engine for something when they are opened, and again once in a while as long as they are seen."""

from typing import Final

from PySide6.QtCore import QTimer
from PySide6.QtGui import QHideEvent

from app.pages.page import Page
from app.reports import Reports
from app.store import Store
from core.api.settings import Wish

AGAIN_MS: Final = 30_000


class AskingPage(Page):
    """See the module's docstring.

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
        self.again = QTimer(self, interval=AGAIN_MS)
        """Runs while the page is seen."""
        self.again.timeout.connect(self.ask)
        reports.came.connect(self._came)

    def opened(self) -> None:
        """Ask now, and then once in a while."""
        self.show_reports()
        self.ask()
        self.again.start()

    def hideEvent(self, event: QHideEvent) -> None:
        """Of Qt: a page that nobody sees asks nothing."""
        super().hideEvent(event)
        self.again.stop()

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
