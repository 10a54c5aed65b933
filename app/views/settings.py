"""The settings: what Potluck may use of this computer and its network."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QTabWidget, QVBoxLayout, QWidget

from app import text
from app.intents import Intents
from app.theme import Theme
from app.views.settings_hours import HoursPage
from app.views.settings_network import NetworkPage
from app.widgets.field import Field, announce
from app.widgets.labels import sentence
from core.api.settings import PROBLEM_PREFIX, PortTest, SettingsView
from core.api.snapshot import ProblemView

METHODS = frozenset(("settings", "configure", "test_port"))
"""Methods whose answers and failures are shown here."""


class SettingsDialog(QDialog):
    """Shows the engine's settings, and sends it what the person has changed."""

    saved = Signal(str)
    """The engine has taken them; with a sentence about what does not count yet, or nothing."""

    def __init__(self, intents: Intents, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._intents = intents
        self.view: SettingsView | None = None
        self.network = NetworkPage()
        self.hours = HoursPage(theme)
        self.pages = QTabWidget()
        self._words = sentence(tone="problem")
        kinds = QDialogButtonBox.StandardButton
        self._buttons = QDialogButtonBox(kinds.Save | kinds.Cancel)
        self.save = self._buttons.button(kinds.Save)
        self._build()
        self._buttons.accepted.connect(self._save)
        self._buttons.rejected.connect(self.reject)
        self.network.test_asked.connect(intents.test_port)

    @property
    def fields(self) -> dict[str, Field]:
        """Fields by name, as in `core.api.settings.FIELDS`."""
        return {**self.network.fields, "hours": self.hours.field}

    @property
    def words(self) -> str:
        """The sentence that stands below the pages."""
        return self._words.text()

    def ask(self) -> None:
        """Open, with what the engine says."""
        if not self.isVisible():
            self.view = None
            self._enable(on=False)
            self._clear()
            self._say(text.tr("Asking the engine…"))
            self.open()
        self._intents.read_settings()

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
                self.network.show_settings(result)
                self.hours.show_settings(result)
                self._say("")
                self._enable(on=True)
                self.pages.currentWidget().setFocus()

    def show_failure(self, method: str, problem: ProblemView) -> None:
        """The engine has refused one of METHODS, or is away."""
        if method == "test_port":
            self.network.show_test_failed(problem)
            return
        self._enable(on=self.view is not None)
        field = self.fields.get(problem.code.removeprefix(PROBLEM_PREFIX))
        if field is None:
            self._say(text.problem(problem))
            announce(self, self.words)
            return
        self._say("")
        self.pages.setCurrentWidget(self.hours if field is self.hours.field else self.network)
        field.show_problem(problem)
        field.control.setFocus()

    def _save(self) -> None:
        view = self.view
        if view is None:
            return
        self._clear()
        wanted = {**self.network.wish(), **self.hours.wish()}
        wish = {name: wanted[name] for name in wanted if wanted[name] != getattr(view, name)}
        if not wish:
            self.accept()
            return
        self._enable(on=False)
        self._intents.configure(wish)

    def _clear(self) -> None:
        self._say("")
        for field in self.fields.values():
            field.show_problem(None)

    def _say(self, words: str) -> None:
        self._words.setText(words)
        self._words.setVisible(bool(words))

    def _enable(self, *, on: bool) -> None:
        self.pages.setEnabled(on)
        self.save.setEnabled(on)

    def _build(self) -> None:
        tr = text.tr
        self.setWindowTitle(tr("Settings"))
        self.pages.addTab(self.network, tr("Net&work"))
        self.pages.addTab(self.hours, tr("&Hours"))
        self.pages.setDocumentMode(True)
        self.pages.tabBar().setDrawBase(False)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 10, 12, 12)
        column.addWidget(self.pages, stretch=1)
        column.addWidget(self._words)
        column.addWidget(self._buttons)
        self.save.setText(tr("&Save"))
        self.save.setDefault(True)
