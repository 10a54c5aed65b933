"""The main window: start page, dashboard and problems."""

from PySide6.QtCore import Signal
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QMainWindow, QMessageBox, QStackedWidget, QVBoxLayout, QWidget

from app import text
from app.choices import Choices
from app.intents import Intents
from app.joining import Answer, JoinCommand
from app.store import Store
from app.theme import Theme
from app.views.actions import Actions
from app.views.dashboard import Dashboard
from app.views.join_dialog import JoinDialog
from app.views.menus import Menus
from app.views.settings import SettingsDialog
from app.views.start_page import StartPage
from app.views.status_line import StatusLine
from app.widgets import icons
from app.widgets.banner import Banner
from core.api.snapshot import ProblemView
from core.api.verdict import VerdictCode

SIZE_FIRST = (1100, 720)


class MainWindow(QMainWindow):
    """Shows what the store holds.

    Args:
        store: The verdict, and the last snapshot.
        intents: Takes the person's intents.
        command: Looks at links, and joins.
        theme: The colours.
        choices: The person's choices about the window.
    """

    close_asked = Signal()
    start_asked = Signal()
    """The person wants the engine started again."""

    def __init__(self, store: Store, intents: Intents, command: JoinCommand, *, theme: Theme, choices: Choices) -> None:
        super().__init__()
        self._store = store
        self._failure: ProblemView | None = None
        self.actions_ = Actions(store, intents, self)
        self.menus = Menus(self.menuBar(), self.actions_, choices=choices, theme=theme)
        self.banner = Banner()
        self.start_page = StartPage()
        self.dashboard = Dashboard(store, intents, theme)
        self.status = StatusLine()
        self.settings = SettingsDialog(intents, theme, self)
        self.join = JoinDialog(command, self)
        self._pages = QStackedWidget()
        self._build()
        self.actions_.close.triggered.connect(self.close)
        self.actions_.about.triggered.connect(self._show_about)
        self.actions_.open.triggered.connect(self.come_forward)
        self.actions_.settings.triggered.connect(self.settings.ask)
        self.settings.saved.connect(lambda note: self.status.tell(f"{text.tr('The settings are saved.')} {note}"))
        self.banner.closed.connect(self._dismiss)
        self.start_page.start_asked.connect(self.start_asked)
        self.start_page.join_asked.connect(self.join.ask)
        self.actions_.join.triggered.connect(self.start_page.join_asked)
        self.join.joined.connect(self._joined)
        store.changed.connect(self._show)
        self._show()

    @property
    def shows_dashboard(self) -> bool:
        """Whether it shows the dashboard, and not the start page."""
        return self._pages.currentWidget() is self.dashboard

    def show_failure(self, problem: ProblemView) -> None:
        """Something that the person asked for failed."""
        self._failure = problem
        self._show_problem()

    def come_forward(self) -> None:
        """Show the window, in front of others."""
        if self.isMinimized():
            self.showNormal()
        self.show()
        self.raise_()
        self.activateWindow()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Of Qt: the application decides what closing means."""
        event.ignore()
        self.close_asked.emit()

    def _build(self) -> None:
        self.setWindowTitle("Potluck")
        self.setWindowIcon(icons.icon("potluck"))
        self.resize(*SIZE_FIRST)
        self._pages.addWidget(self.start_page)
        self._pages.addWidget(self.dashboard)
        centre = QWidget()
        column = QVBoxLayout(centre)
        column.setContentsMargins(12, 4, 12, 6)
        column.setSpacing(8)
        column.addWidget(self.banner)
        column.addWidget(self._pages, stretch=1)
        column.addWidget(self.status)
        self.setCentralWidget(centre)

    def _show(self) -> None:
        snapshot, verdict = self._store.snapshot, self._store.verdict
        prepares = verdict.code in {VerdictCode.STARTING, VerdictCode.NOT_CONNECTED}
        if snapshot is None or (snapshot.collaboration is None and prepares):
            self._pages.setCurrentWidget(self.start_page)
            self.start_page.show_verdict(verdict)
        else:
            self.dashboard.show_snapshot(snapshot)
            self._show_dashboard()
        self.setWindowTitle(text.window_title(snapshot))
        self.status.show_verdict(verdict, snapshot)
        self._show_problem()

    def _joined(self, answer: Answer) -> None:
        """The person has joined; an engine that runs goes there, else one is started."""
        self.status.tell(text.tr("You take part in {name}.").format(name=text.plain(answer.name)))
        if not answer.running:
            self.start_asked.emit()

    def _show_dashboard(self) -> None:
        if not self.shows_dashboard:
            self._pages.setCurrentWidget(self.dashboard)
            self.dashboard.header.switch.setFocus()

    def _show_problem(self) -> None:
        """The engine's problem, or a failed wish."""
        snapshot = self._store.snapshot
        if snapshot is not None and snapshot.problem is not None and self._store.verdict.code is VerdictCode.PROBLEM:
            self.banner.show_problem(snapshot.problem)
        else:
            self.banner.show_problem(self._failure, can_close=True)

    def _dismiss(self) -> None:
        self._failure = None
        self._show_problem()
        self.dashboard.header.switch.setFocus()

    def _show_about(self) -> None:
        snapshot = self._store.snapshot
        box = QMessageBox(self)
        box.setWindowTitle(text.tr("About Potluck"))
        box.setIconPixmap(icons.pixmap("potluck", 96, scale=self.devicePixelRatioF()))
        box.setText(text.about(snapshot.version if snapshot is not None else ""))
        box.setInformativeText(text.tr("Everybody brings a little computing; together it trains one model."))
        box.open()
