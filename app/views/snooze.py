"""A pause for a time, and contributing for a time in spite of the rules."""

from PySide6.QtCore import QDate, QDateTime, QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from app import text
from app.intents import Intents
from app.store import Store
from core.api.verdict import VerdictCode

HOUR_S = 3600


class Snooze(QObject):
    """Entries for menus.

    Attributes:
        menu: Pauses, by their length.
        insist: Contribute now, although the rules say no.
    """

    def __init__(self, store: Store, intents: Intents, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._intents = intents
        tr = text.tr
        self.menu = QMenu(tr("Pause &for"))
        self._add(tr("&1 hour"), HOUR_S)
        self._add(tr("&4 hours"), 4 * HOUR_S)
        self.menu.addAction(tr("Until &tomorrow")).triggered.connect(lambda: intents.pause_until(tomorrow()))
        self.insist = QAction(tr("Contribute &now for 1 hour"), self)
        self.insist.triggered.connect(lambda: intents.contribute_until(_after(HOUR_S)))
        store.changed.connect(self._follow)
        self._follow()

    def _add(self, words: str, seconds: int) -> None:
        self.menu.addAction(words).triggered.connect(lambda: self._intents.pause_until(_after(seconds)))

    def _follow(self) -> None:
        connected, code = self._store.snapshot is not None, self._store.verdict.code
        self.menu.setEnabled(connected)
        self.insist.setEnabled(connected and code in {VerdictCode.RESTING, VerdictCode.PAUSED})


def tomorrow() -> float:
    """The next midnight of this computer's clock, unix seconds."""
    return float(QDate.currentDate().addDays(1).startOfDay().toSecsSinceEpoch())


def _after(seconds: int) -> float:
    return float(QDateTime.currentSecsSinceEpoch() + seconds)
