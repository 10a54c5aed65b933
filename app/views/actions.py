"""Actions for the menus, the tray and the keyboard alike."""

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QKeySequence

from app import text
from app.intents import Intents
from app.store import Store


class Actions(QObject):
    """The commands of the window.

    Attributes:
        open: Bring the window to the front.
        toggle: Pause, or contribute.
        evaluate: Look at the held-out text.
        settings: Show and change what Potluck may use.
        close: Close the window.
        quit: Leave.
        about: Say what this is.
    """

    def __init__(self, store: Store, intents: Intents, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._intents = intents
        tr = text.tr
        self.open = QAction(tr("&Open Potluck"), self)
        self.toggle = QAction(self)
        self.evaluate = QAction(tr("Look at the &held-out text now"), self)
        self.settings = QAction(tr("&Settings…"), self)
        self.close = QAction(tr("&Close window"), self)
        self.quit = QAction(tr("&Quit"), self)
        self.about = QAction(tr("&About Potluck"), self)
        self.toggle.setShortcut(QKeySequence(Qt.Modifier.CTRL | Qt.Key.Key_P))
        self.evaluate.setShortcut(QKeySequence(Qt.Modifier.CTRL | Qt.Key.Key_E))
        self.settings.setShortcut(QKeySequence(Qt.Modifier.CTRL | Qt.Key.Key_Comma))
        self.settings.setMenuRole(QAction.MenuRole.PreferencesRole)
        self.close.setShortcut(QKeySequence(QKeySequence.StandardKey.Close))
        self.quit.setShortcut(QKeySequence(Qt.Modifier.CTRL | Qt.Key.Key_Q))
        self.quit.setMenuRole(QAction.MenuRole.QuitRole)
        self.about.setMenuRole(QAction.MenuRole.AboutRole)
        self.toggle.triggered.connect(lambda: intents.contribute(not intents.contributing))
        self.evaluate.triggered.connect(intents.evaluate)
        intents.changed.connect(self._follow)
        store.changed.connect(self._follow)
        self._connected = False
        self._follow()

    def set_connected(self, connected: bool) -> None:  # noqa: FBT001 - like setEnabled
        """Without a connection nothing can be asked of the engine."""
        self._connected = connected
        self._follow()

    def _follow(self) -> None:
        reachable = self._connected and self._store.snapshot is not None
        self.toggle.setText(text.tr("&Pause") if self._intents.contributing else text.tr("&Contribute"))
        self.toggle.setEnabled(reachable)
        self.evaluate.setEnabled(reachable)
        self.settings.setEnabled(self._connected)
