"""Pauses for a time, also of the graphics card or the network alone, and contributing in spite of the rules."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from PySide6.QtCore import QDate, QDateTime, QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from app.engine.intents import Intents
from app.engine.store import Store
from app.words import text
from core.api.modes import UseMode, UseSubject, UseSwitch
from core.api.sentence import later
from core.api.verdict import VerdictCode

HOUR_S = 3600
ALONE: Final[Mapping[UseSubject, str]] = MappingProxyType(
    {"gpu": later("&Graphics card"), "network": later("N&etwork")}
)
"""What can be paused while the rest goes on, as far as that can."""


class Snooze(QObject):
    """Entries for menus.

    Attributes:
        menu: Pauses, by their length.
        alone: The same for one subject each, with a way back.
        insist: Contribute now, although the rules say no.
    """

    def __init__(self, store: Store, intents: Intents, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._intents = intents
        self.menu = QMenu(text.tr("Pause &for"))
        self._add_lengths(self.menu, "computing")
        self.alone = {subject: QMenu(text.tr(title)) for subject, title in ALONE.items()}
        self._toggles = {subject: menu.addAction("") for subject, menu in self.alone.items()}
        for subject, menu in self.alone.items():
            self._toggles[subject].triggered.connect(lambda _=False, what=subject: self._toggle(what))
            self._add_lengths(menu.addMenu(text.tr("Pause &for")), subject)
        self.insist = QAction(text.tr("Contribute &now for 1 hour"), self)
        self.insist.triggered.connect(lambda: intents.contribute_until(_after(HOUR_S)))
        store.changed.connect(self._follow)
        self._follow()

    def _add_lengths(self, menu: QMenu, what: UseSubject) -> None:
        pause = self._intents.pause_until
        for words, seconds in ((text.tr("&1 hour"), HOUR_S), (text.tr("&4 hours"), 4 * HOUR_S)):
            menu.addAction(words).triggered.connect(lambda _=False, time=seconds: pause(_after(time), what))
        menu.addAction(text.tr("Until &tomorrow")).triggered.connect(lambda: pause(tomorrow(), what))

    def _toggle(self, what: UseSubject) -> None:
        self._intents.switch(what, on=self._is_off(what))

    def _is_off(self, what: UseSubject) -> bool:
        snapshot = self._store.snapshot
        if snapshot is None:
            return False
        switch: UseSwitch = getattr(snapshot.switches, what)
        return switch.at(snapshot.time) is UseMode.NEVER

    def _follow(self) -> None:
        connected, code = self._store.snapshot is not None, self._store.verdict.code
        self.menu.setEnabled(connected)
        for subject, menu in self.alone.items():
            menu.setEnabled(connected)
            self._toggles[subject].setText(text.tr("&Use it again") if self._is_off(subject) else text.tr("&Pause it"))
        self.insist.setEnabled(connected and code in {VerdictCode.RESTING, VerdictCode.PAUSED})


def tomorrow() -> float:
    """The next midnight of this computer's clock, unix seconds."""
    return float(QDate.currentDate().addDays(1).startOfDay().toSecsSinceEpoch())


def _after(seconds: int) -> float:
    return float(QDateTime.currentSecsSinceEpoch() + seconds)
