"""The icon in the system's tray."""

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QMenu, QSystemTrayIcon

from app import text
from app.store import Store
from app.views.actions import Actions
from app.widgets import icons
from core.api.snapshot import Activity, Snapshot

TOOLTIP_LETTERS = 120


def tray_state(snapshot: Snapshot | None, *, connected: bool) -> str:
    """The state of the icon: contributing, paused or problem."""
    if snapshot is None or not connected:
        return "paused"
    if snapshot.problem is not None or snapshot.activity is Activity.PROBLEM:
        return "problem"
    return "contributing" if snapshot.contributing else "paused"


class Tray(QObject):
    """Shows what is going on, and has the most needed commands.

    Args:
        store: The last snapshot.
        actions: Open, pause, quit.
    """

    def __init__(self, store: Store, actions: Actions, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._actions = actions
        self._connected = False
        self._state = ""
        self._menu = QMenu()
        self._menu.addAction(actions.open)
        self._menu.addAction(actions.toggle)
        self._menu.addSeparator()
        self._menu.addAction(actions.quit)
        self._icon = QSystemTrayIcon(self)
        self._icon.setContextMenu(self._menu)
        self._icon.activated.connect(self._activated)
        store.changed.connect(self._follow)
        self._follow()

    @property
    def available(self) -> bool:
        """Whether this desktop has a tray, so that the window may hide there."""
        return QSystemTrayIcon.isSystemTrayAvailable()

    def show(self) -> None:
        """Appear, where there is a tray."""
        if self.available:
            self._icon.show()

    def hide(self) -> None:
        """Remove the icon from the tray."""
        self._icon.hide()

    def set_connected(self, connected: bool) -> None:  # noqa: FBT001 - like setEnabled
        """Whether there is an engine to talk to."""
        self._connected = connected
        self._follow()

    def _follow(self) -> None:
        snapshot = self._store.snapshot
        state = tray_state(snapshot, connected=self._connected)
        if state != self._state:
            self._state = state
            self._icon.setIcon(icons.icon(f"tray-{state}"))
        said = snapshot.sentence if snapshot is not None and self._connected else text.tr("Not connected")
        self._icon.setToolTip(f"Potluck: {text.one_line(said)[:TOOLTIP_LETTERS]}")

    def _activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason in {QSystemTrayIcon.ActivationReason.Trigger, QSystemTrayIcon.ActivationReason.DoubleClick}:
            self._actions.open.trigger()
