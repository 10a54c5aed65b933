"""Pauses for a time, also of a graphics card or the network alone, and contributing in spite of the rules."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from PySide6.QtCore import QDate, QDateTime, QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from app.engine.intents import Intents
from app.engine.store import Store
from app.words import text
from core.api.modes import UseMode, UseSubject
from core.api.sentence import later
from core.api.verdict import VerdictCode

HOUR_S = 3600
ALONE: Final[Mapping[UseSubject, str]] = MappingProxyType(
    {"gpu": later("&Graphics card"), "network": later("N&etwork")}
)
"""What can be paused while the rest goes on, as far as that can."""


class PauseMenu:
    """A menu that pauses something, for good or for a time, with a way back.

    Args:
        menu: Takes the entries.
        what: A subject, or a card (`core.api.modes.SWITCHED`).
        store: Knows where the switch stands.
        intents: Pause, and take that back.
    """

    def __init__(self, menu: QMenu, what: str, store: Store, intents: Intents) -> None:
        self.menu = menu
        self._what = what
        self._store = store
        self._toggle = menu.addAction("")
        self._toggle.triggered.connect(lambda: intents.switch(what, on=self._is_off))
        add_lengths(menu.addMenu(text.tr("Pause &for")), what, intents)
        self.follow()

    def follow(self) -> None:
        """Offer what the switch does next."""
        self._toggle.setText(text.tr("&Use it again") if self._is_off else text.tr("&Pause it"))

    @property
    def _is_off(self) -> bool:
        return is_off(self._store, self._what)


class Snooze(QObject):
    """Entries for menus.

    Attributes:
        menu: Pauses, by their length.
        alone: The same for one subject each, with a way back; of several graphics cards each has a menu in there.
        insist: Contribute now, although the rules say no.
    """

    def __init__(self, store: Store, intents: Intents, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._intents = intents
        self.menu = QMenu(text.tr("Pause &for"))
        add_lengths(self.menu, "computing", intents)
        self.alone = {subject: QMenu(text.tr(title)) for subject, title in ALONE.items()}
        self._menus = [PauseMenu(menu, subject, store, intents) for subject, menu in self.alone.items()]
        self.cards: dict[str, PauseMenu] = {}
        """Their menus by name, where there are several cards."""
        self.insist = QAction(text.tr("Contribute &now for 1 hour"), self)
        self.insist.triggered.connect(lambda: intents.contribute_until(_after(HOUR_S)))
        store.changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        connected, code = self._store.snapshot is not None, self._store.verdict.code
        self._follow_cards(several_cards(self._store))
        self.menu.setEnabled(connected)
        for each in (*self._menus, *self.cards.values()):
            each.menu.setEnabled(connected)
            each.follow()
        self.insist.setEnabled(connected and code in {VerdictCode.RESTING, VerdictCode.PAUSED})

    def _follow_cards(self, names: list[str]) -> None:
        if names == list(self.cards):
            return
        whole = self.alone["gpu"]
        for old in self.cards.values():
            whole.removeAction(old.menu.menuAction())
            old.menu.deleteLater()
        self.cards = {name: PauseMenu(whole.addMenu(name), name, self._store, self._intents) for name in names}


def several_cards(store: Store) -> list[str]:
    """Names of the graphics cards, where a switch of its own means something: there is more than one."""
    found = store.snapshot.cards if store.snapshot is not None else {}
    names = sorted(found, key=lambda name: (len(name), name))
    return names if len(names) > 1 else []


def is_off(store: Store, what: str) -> bool:
    """Whether the switch of a subject, or of a card, stands at "never"."""
    snapshot = store.snapshot
    return snapshot is not None and snapshot.switches.named(what).at(snapshot.time) is UseMode.NEVER


def add_lengths(menu: QMenu, what: str, intents: Intents) -> None:
    """Add pauses of something by their length."""
    for words, seconds in ((text.tr("&1 hour"), HOUR_S), (text.tr("&4 hours"), 4 * HOUR_S)):
        menu.addAction(words).triggered.connect(lambda _=False, time=seconds: intents.pause_until(_after(time), what))
    menu.addAction(text.tr("Until &tomorrow")).triggered.connect(lambda: intents.pause_until(tomorrow(), what))


def tomorrow() -> float:
    """The next midnight of this computer's clock, unix seconds."""
    return float(QDate.currentDate().addDays(1).startOfDay().toSecsSinceEpoch())


def _after(seconds: int) -> float:
    return float(QDateTime.currentSecsSinceEpoch() + seconds)
