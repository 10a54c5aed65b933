"""Actions for the menus, the tray and the keyboard alike."""

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QAction, QActionGroup, QKeySequence

from app.engine.intents import Intents
from app.engine.store import Store
from app.views.snooze import Snooze
from app.words import text


class Actions(QObject):
    """The commands of the window.

    Attributes:
        open: Bring the window to the front.
        toggle: Pause, or contribute.
        snooze: Pause or contribute for a time.
        evaluate: Look at the held-out text.
        settings: Show and change what Potluck may use.
        join: Take part in the collaboration of a link.
        save: Write the newest model into a folder.
        invite: Get a link for somebody.
        leave: Take part in the collaboration that is served no more.
        close: Close the window.
        quit: End the window and the engine.
        pages: What the rail opens, by name, from top to bottom.
    """

    rule_asked = Signal(str)
    """The person wants to change a setting, by its name (`core.api.settings.FIELDS`)."""
    try_asked = Signal()
    """The person wants the backbone asked now."""
    check_asked = Signal()
    """The person wants to know whether this computer is the cause."""
    link_asked = Signal(str)
    """The person wants to look at the collaboration of this link, and to be asked whether to take part."""
    part_asked = Signal()
    """The person wants to get what trains, or to change or remove it."""
    update_asked = Signal()
    """The person wants to see what there is of a newer version."""
    leave_asked = Signal()
    """The person wants to take part in the engine's collaboration no more."""

    def __init__(self, store: Store, intents: Intents, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        tr = text.tr
        self.open = QAction(tr("&Open Potluck"), self)
        self.toggle = QAction(self)
        self.snooze = Snooze(store, intents, self)
        self.evaluate = QAction(tr("Measure w&hat the model can do now"), self)
        self.settings = QAction(tr("&Settings…"), self)
        self.join = QAction(tr("&Join a collaboration…"), self)
        self.save = QAction(tr("&Save the model…"), self)
        self.invite = QAction(tr("&Invite somebody…"), self)
        self.leave = QAction(tr("&Leave…"), self)
        self.close = QAction(tr("Close &window"), self)
        self.quit = QAction(tr("&Quit Potluck"), self)
        self.toggle.setShortcut(QKeySequence(Qt.Modifier.CTRL | Qt.Key.Key_P))
        self.evaluate.setShortcut(QKeySequence(Qt.Modifier.CTRL | Qt.Key.Key_E))
        self.settings.setShortcuts([QKeySequence(Qt.Modifier.CTRL | Qt.Key.Key_Comma), QKeySequence("Ctrl+9")])
        self.settings.setIconText(tr("Settings"))
        self.save.setShortcut(QKeySequence(QKeySequence.StandardKey.Save))
        self.join.setShortcut(QKeySequence(Qt.Modifier.CTRL | Qt.Key.Key_J))
        self.settings.setMenuRole(QAction.MenuRole.PreferencesRole)
        self.close.setShortcut(QKeySequence(QKeySequence.StandardKey.Close))
        self.quit.setShortcut(QKeySequence(Qt.Modifier.CTRL | Qt.Key.Key_Q))
        self.quit.setMenuRole(QAction.MenuRole.QuitRole)
        self.pages = self._make_pages()
        self.toggle.triggered.connect(lambda: intents.contribute(not store.contributing))
        self.evaluate.triggered.connect(intents.evaluate)
        self.try_asked.connect(intents.try_now)
        store.changed.connect(self._follow)
        self._follow()

    def _make_pages(self) -> dict[str, QAction]:
        """One action for each page, of which one is checked; Ctrl and its number open it."""
        tr = text.tr
        titles = {
            "home": tr("&Home"),
            "model": tr("&Model"),
            "people": tr("&People"),
            "gift": tr("My &gift"),
            "collaborations": tr("Colla&borations"),
            "computer": tr("My &computer"),
            "activity": tr("&Activity"),
            "about": tr("About and &trust"),
        }
        group, made = QActionGroup(self), {}
        for number, (name, title) in enumerate(titles.items(), 1):
            made[name] = QAction(title, self, checkable=True)
            made[name].setShortcut(QKeySequence(f"Ctrl+{number}"))
            group.addAction(made[name])
        made["home"].setChecked(True)
        made["about"].setMenuRole(QAction.MenuRole.AboutRole)
        return made

    def _follow(self) -> None:
        """Without an engine nothing can be asked of it."""
        connected = self._store.snapshot is not None
        self.toggle.setText(text.tr("&Pause") if self._store.contributing else text.tr("&Contribute"))
        for action in (self.evaluate, self.settings, self.save):
            action.setEnabled(connected)
        self.toggle.setEnabled(self._store.steers)
