"""The main window: the rail, the page that is open, problems, and the last line."""

from functools import cached_property, partial

from PySide6.QtCore import QEvent, QSize, Signal
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QHBoxLayout, QMainWindow, QStackedWidget, QVBoxLayout, QWidget

from app.commands.joining import Answer
from app.commands.own_commands import OwnCommands
from app.engine.intents import Intents
from app.engine.reports import Reports
from app.engine.store import Store
from app.looks.choices import Choices
from app.looks.theme import Theme
from app.pages.about import AboutPage
from app.pages.activity import ActivityPage
from app.pages.collaborations import CollaborationsPage
from app.pages.computer import ComputerPage
from app.pages.gift import GiftPage
from app.pages.home import HomePage
from app.pages.model import ModelPage
from app.pages.page import Page
from app.pages.people import PeoplePage
from app.shell.menus import Menus
from app.shell.served import ServedActions
from app.views.actions import Actions
from app.views.first_run.wizard import JoinDialog
from app.views.founding.dialog import FoundDialog
from app.views.rail import Rail
from app.views.removal import show_removal
from app.views.settings.dialog import SettingsDialog
from app.views.start_page import StartPage
from app.views.status_line import NEWS_MS, StatusLine
from app.views.training_part import TrainingPartDialog, TrainingPartOffer
from app.views.updating import UpdateLine
from app.widgets import icons
from app.widgets.banner import Banner
from app.widgets.calm_wheel import CalmWheel
from app.words import text
from core.api.reports import MachineView
from core.api.snapshot import ProblemView
from core.api.verdict import VerdictCode

SIZE_FIRST = QSize(1100, 720)
SCREEN_SHARE = 0.95
"""Part of the screen that the window takes at most when it opens for the first time."""


class MainWindow(QMainWindow):
    """Shows what the store holds.

    Args:
        store: The verdict, and the last snapshot.
        intents: Takes the person's intents.
        commands: Commands of Potluck, that the window runs.
        theme: The colours.
        choices: The person's choices about the window.
    """

    close_asked = Signal()
    start_asked = Signal()
    """The person wants the engine started again."""
    stop_asked = Signal()
    """The person wants an engine ended that does not answer."""

    def __init__(
        self, store: Store, intents: Intents, commands: OwnCommands, *, theme: Theme, choices: Choices
    ) -> None:
        super().__init__()
        self._store = store
        self._failure: ProblemView | None = None
        self.far = ""
        """Another computer, whose engine it shows; empty: this one's."""
        self.actions_ = Actions(store, intents, self)
        self.menus = Menus(self.menuBar(), self.actions_, choices=choices, theme=theme)
        self.banner = Banner()
        self.start_page = StartPage()
        self.reports = Reports(intents, self)
        self.home = HomePage(store, self.reports, intents, self.actions_, commands.trying, theme=theme)
        self.model = ModelPage(store, commands.trying, commands.saving, theme)
        self.computer = ComputerPage(store, self.reports, intents, self.actions_, commands.doctor)
        self.people = PeoplePage(store, self.reports, theme)
        self.collaborations = CollaborationsPage(store, commands.listing, commands.keeping, self)
        self.pages: dict[str, Page] = {
            "home": self.home,
            "model": self.model,
            "people": self.people,
            "gift": GiftPage(store, self.reports, theme),
            "collaborations": self.collaborations,
            "computer": self.computer,
            "activity": ActivityPage(store, self.reports, theme),
            "about": AboutPage(store, self.reports, commands.account, theme),
        }
        """By the names of their actions."""
        self.rail = Rail(
            [(action, f"page-{name}") for name, action in self.actions_.pages.items()],
            [(self.actions_.settings, "page-settings")],
            theme,
        )
        self.status = StatusLine()
        self._make_settings = partial(SettingsDialog, intents, commands, theme, self)
        self.join = JoinDialog(commands.joining, self)
        self.founding = FoundDialog(commands.founding, self.join)
        self.served = ServedActions(
            self.actions_, commands.joining, collaborations=self.collaborations, model=self.model, over=self
        )
        self.part_offer = TrainingPartOffer(
            store, choices, partial(TrainingPartDialog, commands.part, self), self, far=lambda: bool(self.far)
        )
        self.above = QVBoxLayout()
        """What stands above each page."""
        self.update_line = UpdateLine(store, commands.updating, self)
        self._stack = QStackedWidget()
        self._build()
        self._connect()
        CalmWheel(self)
        self._show()

    @cached_property
    def settings(self) -> SettingsDialog:
        """The dialog of the settings, built when it is first asked for: it is a third of all that the window holds."""
        dialog = self._make_settings()
        dialog.saved.connect(lambda note: self.status.tell(f"{text.tr('The settings are saved.')} {note}"))

        def tell(_: str = "") -> None:
            if (machine := self.reports.last(MachineView)) is not None:
                for page in (dialog.rules, dialog.owner):
                    page.show_machine(machine)

        self.reports.came.connect(tell)
        tell()
        CalmWheel(dialog)
        return dialog

    @property
    def open_page(self) -> str:
        """The name of the page that the rail marks."""
        return next(name for name, action in self.actions_.pages.items() if action.isChecked())

    @property
    def shows_page(self) -> bool:
        """Whether it shows the page that the rail marks, and not the start of an engine in its place."""
        return self._stack.currentWidget() is self.pages[self.open_page]

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
        """Let the application decide what closing means."""
        event.ignore()
        self.close_asked.emit()

    def changeEvent(self, event: QEvent) -> None:
        """Catch up when the window is no longer minimised."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.WindowStateChange and not self.isMinimized():
            self._store.changed.emit()

    def _build(self) -> None:
        self.setWindowTitle("Potluck")
        self.setWindowIcon(icons.icon("potluck"))
        self.resize(SIZE_FIRST.boundedTo(self.screen().availableSize() * SCREEN_SHARE))
        self._stack.addWidget(self.start_page)
        for page in self.pages.values():
            self._stack.addWidget(page)
        centre = QWidget()
        whole = QVBoxLayout(centre)
        whole.setContentsMargins(0, 0, 0, 4)
        whole.setSpacing(4)
        row = QHBoxLayout()
        row.setSpacing(0)
        row.addWidget(self.rail)
        column = QVBoxLayout()
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        self.above.setContentsMargins(16, 4, 16, 0)
        self.above.setSpacing(4)
        self.above.addWidget(self.banner)
        self.above.addWidget(self.update_line)
        column.addLayout(self.above)
        column.addWidget(self._stack, stretch=1)
        row.addLayout(column, stretch=1)
        whole.addLayout(row, stretch=1)
        whole.addWidget(self.status)
        self.setCentralWidget(centre)

    def _connect(self) -> None:
        actions = self.actions_
        actions.close.triggered.connect(self.close)
        actions.open.triggered.connect(self.come_forward)
        actions.settings.triggered.connect(lambda: self.settings.ask(""))
        actions.rule_asked.connect(lambda rule: self.settings.ask(rule))  # noqa: PLW0108 - not built before
        actions.join.triggered.connect(self.start_page.join_asked)
        actions.link_asked.connect(self.join.ask)
        elsewhere = text.tr("This is done on the computer itself.")
        actions.part_asked.connect(lambda: self.status.tell(elsewhere) if self.far else self.part_offer.ask())
        self.menus.removal.triggered.connect(
            lambda: show_removal(self, told.home if (told := self.reports.last(MachineView)) is not None else "")
        )
        actions.update_asked.connect(lambda: self.status.tell(elsewhere) if self.far else self.update_line.dialog.ask())
        for action in actions.pages.values():
            action.toggled.connect(self._show)
        for action in self.menus.language_actions.values():
            action.triggered.connect(
                lambda: self.status.tell(
                    text.tr("The window speaks it from its next start on: quit Potluck and open it again.")
                )
            )
        self.banner.closed.connect(self._dismiss)
        self.start_page.start_asked.connect(self.start_asked)
        self.start_page.stop_asked.connect(self.stop_asked)
        self.start_page.join_asked.connect(self.join.ask)
        self.start_page.try_asked.connect(actions.try_asked)
        self.start_page.check_asked.connect(actions.check_asked)
        actions.try_asked.connect(lambda: self.status.tell(text.tr("Trying now…"), NEWS_MS))
        actions.check_asked.connect(actions.pages["computer"].trigger)
        actions.check_asked.connect(self.computer.check.click)
        self.collaborations.join_asked.connect(self.join.ask)
        self.collaborations.alone_asked.connect(self.start_page.alone_asked)
        self.collaborations.keeping.went.connect(self._joined)
        self.collaborations.keeping.leaving.left.connect(lambda name: self.status.tell(text.left(name)))
        self.served.said.connect(self.status.tell)
        self.served.leaving.failed.connect(self.show_failure)
        self.join.joined.connect(self._joined)
        self.join.found_asked.connect(self.founding.ask)
        self.join.update_asked.connect(actions.update_asked)
        self.founding.founded.connect(self.join.take_founded)
        self._store.changed.connect(self._show)

    def _show(self) -> None:
        snapshot, verdict = self._store.snapshot, self._store.verdict
        page = self.pages[self.open_page]
        known = self._store.last if page is not self.home else snapshot
        prepares = verdict.code in {VerdictCode.STARTING, VerdictCode.NOT_CONNECTED, VerdictCode.NO_ANSWER}
        waits = page.needs_collaboration and prepares and known is not None and known.collaboration is None
        if page.needs_engine and (known is None or waits):
            self._stack.setCurrentWidget(self.start_page)
            self.start_page.show_verdict(verdict)
        elif not self.shows_page:
            focus = self.focusWidget()
            leaves = focus is None or self._stack.isAncestorOf(focus)
            self._stack.setCurrentWidget(page)
            if leaves:  # Qt would hand the focus of a page that goes to whatever comes next
                page.take_focus()
        self.setWindowTitle(text.window_title(snapshot, far=self.far))
        self.status.show_verdict(verdict, snapshot)
        self._show_problem()

    def _joined(self, answer: Answer) -> None:
        """The person has joined; an engine that runs goes there, else one is started."""
        self.status.tell(text.tr("You take part in {name}.", text.plain(answer.name)))
        if not answer.running:
            self.start_asked.emit()

    def _show_problem(self) -> None:
        """The engine's problem, or a failed wish."""
        snapshot = self._store.snapshot
        if snapshot is not None and snapshot.problem is not None and self._store.verdict.code is VerdictCode.PROBLEM:
            # Home says it beside its pot
            self.banner.show_problem(snapshot.problem if self.open_page != "home" else None)
        else:
            self.banner.show_problem(self._failure, can_close=True)

    def _dismiss(self) -> None:
        self._failure = None
        self._show_problem()
        self.rail.buttons[list(self.pages).index(self.open_page)].setFocus()
