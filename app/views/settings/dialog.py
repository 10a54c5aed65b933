"""The settings: what Potluck may use of this computer and its network."""

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QTabWidget, QVBoxLayout, QWidget

from app.commands.own_commands import OwnCommands
from app.engine.intents import Intents
from app.looks.theme import Theme
from app.views.settings.computer import ComputerSettingsPage
from app.views.settings.hours import HoursPage
from app.views.settings.network import NetworkPage
from app.views.settings.owner import OwnerPage
from app.views.settings.page import SettingsPage
from app.views.settings.rules import RulesPage
from app.widgets.field import Field, announce
from app.widgets.labels import sentence
from app.words import text
from core.api.modes import UseSwitch
from core.api.settings import PROBLEM_PREFIX, PortTest, SettingsView
from core.api.snapshot import ProblemView

SIZE_FIRST = QSize(760, 520)
METHODS = frozenset(("settings", "configure", "test_port"))
"""Methods whose answers and failures are shown here."""


class SettingsDialog(QDialog):
    """Shows the engine's settings, and sends it what the person has changed."""

    saved = Signal(str)
    """The engine has taken them; with a sentence about what does not count yet, or nothing."""

    def __init__(self, intents: Intents, commands: OwnCommands, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._intents = intents
        self.view: SettingsView | None = None
        self._wanted = ""
        self.rules = RulesPage()
        self.hours = HoursPage(theme)
        self.owner = OwnerPage()
        self.network = NetworkPage()
        self.computer = ComputerSettingsPage(commands)
        self.pages = QTabWidget()
        self._words = sentence(tone="problem")
        kinds = QDialogButtonBox.StandardButton
        self._buttons = QDialogButtonBox(kinds.Save | kinds.Cancel)
        self.save = self._buttons.button(kinds.Save)
        for button in self._buttons.buttons():
            button.setIcon(QIcon())  # the style's own pictures belong to another program
        self._build()
        self._buttons.accepted.connect(self._save)
        self._buttons.rejected.connect(self.reject)
        self.pages.currentChanged.connect(self._look)
        self.network.test_asked.connect(intents.test_port)

        def mark() -> None:
            self.rules.amounts.show_rules({**self.rules.wish(), **self.owner.wish()})

        for page in (self.rules, self.owner):
            self.rules.amounts.chosen.connect(page.fill_in)
            page.edited.connect(mark)
        self.rules.amounts.chosen.connect(mark)

    @property
    def fields(self) -> dict[str, Field]:
        """Fields by name, as in `core.api.settings.FIELDS`."""
        return {name: field for page in self._all for name, field in page.fields.items()}

    @property
    def _all(self) -> tuple[SettingsPage | HoursPage | NetworkPage, ...]:
        return self.rules, self.hours, self.owner, self.network, self.computer

    @property
    def words(self) -> str:
        """The sentence that stands below the pages."""
        return self._words.text()

    def ask(self, field: str = "") -> None:
        """Open, with what the engine says.

        Args:
            field: One of `fields`, which gets the focus; empty: the page that was open last.
        """
        self._wanted = field
        if not self.isVisible():
            self.view = None
            self.save.setEnabled(False)
            self.pages.hide()  # greyed out, a screen reader would be told of each control, twice
            self._clear()
            self._say(text.tr("Asking the engine…"))
            self.open()
        self._intents.read_settings()
        self._intents.ask("machine")
        self.computer.login.read()
        self._look()

    def show_answer(self, method: str, result: object) -> None:
        """The engine has answered one of METHODS."""
        match result:
            case PortTest():
                self.network.show_test(result)
            case SettingsView() if method == "configure":
                self.view = result
                self.accept()
                self.saved.emit(text.tr(result.note))
            case SettingsView() if self.view is None:
                self.view = result
                for page in self._all:
                    page.show_settings(result)
                self._say("")
                self.save.setEnabled(True)
                self.pages.show()
                self._go_to(self._wanted)

    def show_failure(self, method: str, problem: ProblemView) -> None:
        """The engine has refused one of METHODS, or is away."""
        if method == "test_port":
            self.network.show_test_failed(problem)
            return
        self.save.setEnabled(self.view is not None)
        field = self.fields.get(problem.code.removeprefix(PROBLEM_PREFIX))
        if field is None:
            self._say(text.problem(problem))
            announce(self, self.words)
            return
        self._say("")
        field.show_problem(problem)
        self._go_to(problem.code.removeprefix(PROBLEM_PREFIX))

    def _go_to(self, name: str) -> None:
        """Open the page of a field, and give that the focus; without a name the page that is open gets it."""
        page = next((page for page in self._all if name in page.fields), None)
        if page is None:
            self.pages.currentWidget().setFocus()
            return
        self.pages.setCurrentWidget(page)
        page.fields[name].control.setFocus()

    def _save(self) -> None:
        view = self.view
        if view is None:
            return
        self._clear()
        wanted = {name: value for page in self._all for name, value in page.wish().items()}
        wish = {name: value for name, value in wanted.items() if value != _kept(view, name)}
        self.save.setEnabled(False)
        if wish:
            self._intents.configure(wish)
        else:
            self._finish(None)

    def _finish(self, note: str | None) -> None:
        """The engine has all; what starts at login is the system's, and comes last.

        Args:
            note: What does not count yet; None: nothing was changed.
        """

        def close(kept: bool) -> None:  # noqa: FBT001 - the answer
            self.save.setEnabled(True)
            if not kept:
                self.pages.setCurrentWidget(self.computer)
                self.computer.login.box.setFocus()
                return
            self.accept()
            if note is not None:
                self.saved.emit(note)

        self.computer.login.save(close)

    def _look(self) -> None:
        if self.pages.currentWidget() is self.computer:
            self.computer.look()

    def _clear(self) -> None:
        self._say("")
        for field in self.fields.values():
            field.show_problem(None)

    def _say(self, words: str) -> None:
        self._words.setText(words)
        self._words.setVisible(bool(words))

    def _build(self) -> None:
        tr = text.tr
        self.setWindowTitle(text.title(tr("Settings")))
        self.pages.addTab(self.rules, tr("&When to run"))
        self.pages.addTab(self.hours, tr("&Hours"))
        self.pages.addTab(self.owner, tr("Heat and price"))
        self.pages.addTab(self.network, tr("Networ&k"))
        self.pages.addTab(self.computer, tr("This comput&er"))
        self.pages.setDocumentMode(True)
        self.pages.tabBar().setDrawBase(False)
        self.pages.tabBar().setAccessibleName(tr("Pages"))
        self.resize(SIZE_FIRST)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 10, 12, 12)
        column.addWidget(self.pages, stretch=1)
        column.addWidget(self._words)
        column.addWidget(self._buttons)
        self.save.setText(tr("&Save"))
        self.save.setDefault(True)


def _kept(view: SettingsView, name: str) -> object:
    """A setting as a wish names it."""
    value: object = getattr(view, name)
    if isinstance(value, UseSwitch):
        return value.mode.value
    return list(value) if isinstance(value, tuple) else value
