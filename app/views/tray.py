"""The icon in the system's tray."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QMenu, QSystemTrayIcon

from app.engine.store import Store
from app.views.actions import Actions
from app.widgets import icons
from app.words import page_text, text
from core.api.verdict import VerdictCode

TOOLTIP_LETTERS = 120
ICONS: Final[Mapping[VerdictCode, str]] = MappingProxyType(
    {
        VerdictCode.CONTRIBUTING: "tray-contributing",
        VerdictCode.RESTING: "tray-paused",
        VerdictCode.PAUSED: "tray-paused",
        VerdictCode.STARTING: "tray-paused",
        VerdictCode.WAITING: "tray-paused",
        VerdictCode.CHANGING: "tray-paused",
        VerdictCode.NOT_CONNECTED: "tray-problem",
        VerdictCode.NO_ANSWER: "tray-problem",
        VerdictCode.PROBLEM: "tray-problem",
    }
)


class Tray(QObject):
    """Shows what is going on, and has the most needed commands.

    Args:
        store: Has the verdict.
        actions: Open, pause, quit.
    """

    def __init__(self, store: Store, actions: Actions, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._actions = actions
        self.shown: VerdictCode | None = None
        """The code of the verdict that the icon shows."""
        self.menu = QMenu()
        """What a click with the other button opens."""
        self.menu.addAction(actions.open)
        self.menu.addAction(actions.toggle)
        self.menu.addMenu(actions.snooze.menu)
        for menu in actions.snooze.alone.values():
            self.menu.addMenu(menu)
        self.menu.addAction(actions.snooze.insist)
        self.menu.addSeparator()
        self.menu.addAction(actions.quit)
        self._icon = QSystemTrayIcon(self)
        self._icon.setContextMenu(self.menu)
        self._icon.activated.connect(self._activated)
        store.changed.connect(self._follow)
        self._follow()

    @property
    def available(self) -> bool:
        """Whether this desktop has a tray, so that the window may hide there."""
        return QSystemTrayIcon.isSystemTrayAvailable()

    @property
    def words(self) -> str:
        """The tooltip."""
        return self._icon.toolTip()

    def show(self) -> None:
        """Appear, where there is a tray."""
        if self.available:
            self._icon.show()

    def hide(self) -> None:
        """Remove the icon from the tray."""
        self._icon.hide()

    def tell(self, title: str, words: str) -> None:
        """Show a notification of the desktop, where there is a tray."""
        self._icon.showMessage(title, words, self._icon.icon())

    def _follow(self) -> None:
        verdict = self._store.verdict
        if verdict.code is not self.shown:
            self.shown = verdict.code
            self._icon.setIcon(icons.icon(ICONS[verdict.code]))
        said = f"{text.headline(verdict)}. {page_text.reason(verdict)}"
        self._icon.setToolTip(f"Potluck: {said[:TOOLTIP_LETTERS]}")

    def _activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason in {QSystemTrayIcon.ActivationReason.Trigger, QSystemTrayIcon.ActivationReason.DoubleClick}:
            self._actions.open.trigger()
