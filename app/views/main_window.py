"""The main window: start page, dashboard and problems."""

from PySide6.QtCore import Signal
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QMainWindow, QMessageBox, QStackedWidget, QVBoxLayout, QWidget

from app import text
from app.choices import Choices
from app.intents import Intents
from app.link import Link, LinkState
from app.store import Store
from app.theme import Theme
from app.views.actions import Actions
from app.views.dashboard import Dashboard
from app.views.menus import Menus
from app.views.settings import SettingsDialog
from app.views.start_page import StartPage
from app.views.status_line import StatusLine
from app.widgets import icons
from app.widgets.banner import Banner
from core.api.snapshot import Activity, ProblemView, Snapshot

SIZE_FIRST = (1100, 720)


class MainWindow(QMainWindow):
    """Shows the store, the link and problems.

    Args:
        store: The last snapshot.
        intents: Takes the person's intents.
        theme: The colours.
        choices: The person's choices about the window.
    """

    close_asked = Signal()
    start_asked = Signal()
    """The person wants the engine started again."""

    def __init__(self, store: Store, intents: Intents, *, theme: Theme, choices: Choices) -> None:
        super().__init__()
        self._store = store
        self._link = Link(LinkState.CONNECTING)
        self._own_problem: ProblemView | None = None
        self._failure: ProblemView | None = None
        self.actions_ = Actions(store, intents, self)
        self.menus = Menus(self.menuBar(), self.actions_, choices=choices, theme=theme)
        self.banner = Banner()
        self.start_page = StartPage()
        self.dashboard = Dashboard(intents, theme)
        self.status = StatusLine()
        self.settings = SettingsDialog(intents, theme, self)
        self._pages = QStackedWidget()
        self._build()
        self.actions_.close.triggered.connect(self.close)
        self.actions_.about.triggered.connect(self._show_about)
        self.actions_.open.triggered.connect(self.come_forward)
        self.actions_.settings.triggered.connect(self.settings.ask)
        self.settings.saved.connect(lambda note: self.status.tell(f"{text.tr('The settings are saved.')} {note}"))
        self.banner.action_asked.connect(self.start_asked)
        self.banner.closed.connect(self._dismiss)
        store.changed.connect(self._show_snapshot)
        self.status.show_link(self._link.state, None)
        self._show_problem()

    @property
    def shows_dashboard(self) -> bool:
        """Whether it shows the dashboard, and not the start page."""
        return self._pages.currentWidget() is self.dashboard

    def show_link(self, link: Link) -> None:
        """The way to the engine changed."""
        self._link = link
        connected = link.state is LinkState.CONNECTED
        self.actions_.set_connected(connected)
        self.status.show_link(link.state, self._store.snapshot)
        if not connected:
            self.dashboard.header.show_away(text.link(link.state))

    def show_start(self, step: int, problem: ProblemView | None) -> None:
        """How far the start is (StartPage.show_step), or what is in its way."""
        self._own_problem = problem
        if problem is not None:
            self.start_page.show_stopped()
        elif self._store.snapshot is None:
            self.start_page.show_step(step)
        self._show_problem()

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

    def _show_snapshot(self) -> None:
        snapshot = self._store.snapshot
        if snapshot is None:
            return
        if snapshot.activity is Activity.STARTING and snapshot.collaboration is None:
            self._pages.setCurrentWidget(self.start_page)
            self.start_page.show_step(2, snapshot.sentence)
        else:
            self.dashboard.show_snapshot(snapshot)
            self._show_dashboard()
        self.setWindowTitle(text.window_title(snapshot))
        self.status.show_link(self._link.state, snapshot)
        self._show_problem()

    def _show_dashboard(self) -> None:
        if not self.shows_dashboard:
            self._pages.setCurrentWidget(self.dashboard)
            self.dashboard.header.switch.setFocus()

    def _show_problem(self) -> None:
        """The most pressing one: the window's own, the engine's, or a failed wish."""
        snapshot: Snapshot | None = self._store.snapshot
        if self._own_problem is not None:
            can_start = self._own_problem.code not in text.NOTHING_TO_START
            action = text.tr("&Start again") if can_start else ""
            self.banner.show_problem(self._own_problem, action=action)
        elif snapshot is not None and snapshot.problem is not None:
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
