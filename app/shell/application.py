"""The composition root of the window: makes the parts and ties them together."""

import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QApplication

from app.commands.own_commands import OwnCommands
from app.ending import EngineEnding
from app.engine import reports
from app.engine.client import Client
from app.engine.engine_process import EngineProcess, own_program
from app.engine.intents import Intents
from app.engine.starting import Starter
from app.engine.store import Store
from app.looks.choices import Choices, Closing
from app.looks.theme import Theme
from app.renewal import Renewal
from app.shell.keepsakes import Keepsakes
from app.shell.main_window import MainWindow
from app.shell.notifier import Notifier
from app.shell.opening import Opening, opening
from app.shell.welcome import Welcome
from app.views.closing import ClosingQuestion
from app.views.crash_offer import CrashOffer
from app.views.settings import dialog as settings
from app.views.status_line import NEWS_MS
from app.views.tray import Tray
from app.words import text
from core.api.commands import ModelEvaluation
from core.api.moderation import ModerationOutcome, PageView
from core.api.snapshot import ProblemView
from core.api.verdict import NO_ENTRY, VerdictCode


class Application(QObject):
    """A window on the engine of one home, from `start` to `left`.

    Args:
        home: The home directory, absolute.
        qt: Qt's application.
        engine: How to start an engine, or None to only attach to one.
        far: Another computer, whose engine this is: it goes on when the window goes; empty: this computer's.
        chance: For jitter.
    """

    left = Signal()
    """All is put away; the process may end."""

    def __init__(
        self,
        home: Path,
        qt: QApplication,
        *,
        engine: Sequence[str] | None,
        far: str = "",
        chance: random.Random | None = None,
    ) -> None:
        super().__init__()
        qt.setQuitOnLastWindowClosed(False)
        self._home = home
        self._far = far
        self.choices = Choices(home / "window.ini")
        self.store = Store(self)
        self.client = Client(home, chance or random.SystemRandom(), self)
        self.intents = Intents(self.client.call, self.store, self)
        self.theme = Theme(qt, self.choices.theme)
        self.commands = OwnCommands.of(home, own_program(), self)
        self.window = MainWindow(self.store, self.intents, self.commands, theme=self.theme, choices=self.choices)
        self.window.far = far
        self.window.collaborations.far = bool(far)
        self.tray = Tray(self.store, self.window.actions_, self)
        self.notifier = Notifier(self.store, self.choices, tell=self.tray.tell, seen=self.window.isVisible)
        tell = partial(self.window.status.tell, stay_ms=NEWS_MS)
        self.keepsakes = Keepsakes(self.store, self.window.reports, self.choices, say=tell, tell=self.tray.tell)
        self.crashes = CrashOffer(home, self.choices)
        self.window.above.addWidget(self.crashes)
        self.crashes.look()
        self.question = ClosingQuestion(self.window, text.where_it_hides(tray=self.tray.available))
        self.process = EngineProcess(home, engine or (), self)
        self.starter = Starter(self.process, self.store, self.commands.quitting, may_start=engine is not None)
        self.window.start_page.may_restart = engine is not None
        self.window.start_page.may_stop = not far
        self.renewal = Renewal(home, self.store, self.intents, self.window, lambda: self.leave(stop=False))
        """What is started when the window has ended, if it ends for a newer version."""
        self._welcome = Welcome(self.window.join, self.choices, self)
        self._connected = self._silent = False
        self._leaving = False
        self._lives_on = False
        """Whether the engine could not be ended, not even by force."""
        self.ending = EngineEnding(home, self.intents, lambda: self.client.engine, self)
        self._wire()
        qt.commitDataRequest.connect(lambda _: self.leave(stop=False))  # the person logs out: no questions

    def start(self, link: str = "", *, hidden: bool = False) -> None:
        """Open the window, and look for the engine.

        Args:
            link: Link of a collaboration: the person is asked about it first, before anything is computed; empty: none.
            hidden: Whether only the tray shows it; minimised where there is no tray.
        """
        if opening(self._home, self.choices) is Opening.ALONE:
            self.process.go_alone()
        self.window.restoreGeometry(self.choices.geometry)
        self.tray.show()
        if not hidden:
            self.window.show()
        elif not self.tray.available:
            self.window.showMinimized()
        if link:
            self.window.join.finished.connect(self.client.start, Qt.ConnectionType.SingleShotConnection)
            self.window.join.ask(link)
        else:
            self.client.start()

    def welcome(self, link: str = "") -> None:
        """Open the first-run pages; no engine is looked for, and nothing computes, before the person starts it.

        Args:
            link: Link of a collaboration, which is looked at first; empty: none.
        """
        self._welcome.begin(link)

    def come_forward(self) -> None:
        """Bring the window to the front, or the first-run pages while they are open."""
        if not self._welcome.come_forward():
            self.window.come_forward()

    def leave(self, *, stop: bool = True) -> None:
        """Go away.

        Args:
            stop: Whether the engine goes too.
        """
        if self._leaving:
            return
        self._leaving = True
        stop = stop and not (self._far or self._lives_on)
        self.choices.geometry = self.window.saveGeometry()
        self.choices.save()
        self.window.hide()
        self.tray.hide()
        if stop and (self._connected or self._silent):
            self.starter.hold()
            self.ending.ask() if self._connected else self.ending.force()
            return
        if stop:
            self.process.stop()
        self.finish()

    def _wire(self) -> None:
        client, window = self.client, self.window
        self._welcome.chosen.connect(self.start)
        self._welcome.refused.connect(lambda: self.leave(stop=False))
        client.snapshot_came.connect(self.store.put)
        client.notice_came.connect(window.status.show_news)
        client.link_changed.connect(self.crashes.look)
        client.show_asked.connect(window.come_forward)
        client.link_changed.connect(self._follow_link)
        client.link_changed.connect(self.renewal.follow)
        window.update_line.restart_asked.connect(self.renewal.ask)
        client.answered.connect(self._answered)
        client.failed.connect(self._failed)
        window.start_asked.connect(self.starter.start)
        window.start_asked.connect(client.hurry)
        window.stop_asked.connect(self._stop_now)
        window.start_page.alone_asked.connect(self.starter.start_alone)
        window.start_page.alone_asked.connect(client.hurry)
        window.close_asked.connect(self._close_asked)
        window.actions_.quit.triggered.connect(self.leave)
        self.question.answered.connect(self._close)
        self.ending.ended.connect(self._ended)

    def _follow_link(self, reason: str) -> None:
        self._connected, self._silent = not reason, reason in {VerdictCode.NO_ANSWER, NO_ENTRY}
        self._lives_on = self._lives_on and self._silent
        self.starter.follow(reason)

    def _answered(self, method: str, result: object) -> None:
        if method in settings.METHODS:
            self.window.settings.show_answer(method, result)
        elif method in reports.KINDS:
            self.window.reports.put(method, result)
        elif isinstance(result, ModerationOutcome):
            self.window.reports.ask("moderation")
        elif isinstance(result, PageView):
            if (address := QUrl(result.address)).scheme() in {"http", "https"}:
                QDesktopServices.openUrl(address)
        elif isinstance(result, ModelEvaluation):
            self.window.status.tell(text.evaluated(result))

    def _failed(self, method: str, problem: ProblemView) -> None:
        if self._leaving:
            return
        if method in settings.METHODS and self.window.settings.isVisible():
            self.window.settings.show_failure(method, problem)
            return
        if method in reports.KINDS:
            return  # the page stays as it was, and asks again
        if method in {"pause", "resume"}:
            self.intents.forget()
        self.window.show_failure(problem)

    def _close_asked(self) -> None:
        if self._far or not (self._connected or self._silent or self.process.running):
            self.leave(stop=False)
        elif self.choices.closing is Closing.ASK:
            self.window.come_forward()
            self.question.ask()
        else:
            self._close(self.choices.closing)

    def _close(self, choice: Closing) -> None:
        """Close the window as the person has chosen, this time and from now on."""
        self.choices.closing = choice
        if choice is Closing.QUIT:
            self.leave()
        elif self.tray.available:
            self.window.hide()
            self.notifier.hidden()
        else:
            self.window.showMinimized()

    def _stop_now(self) -> None:
        """The person ends an engine that does not answer."""
        self.starter.hold()
        self.ending.force()

    def _ended(self, gone: bool) -> None:  # noqa: FBT001 - a Qt slot of `ended(bool)`
        """The engine is gone, or lives on in spite of all: then the window stays to say so, and goes the next time."""
        if gone and self._leaving:
            self.finish()
            return
        self._leaving, self._lives_on = False, not gone
        self.client.hurry()
        if not gone:
            self.tray.show()
            self.window.come_forward()
            self.window.show_failure(text.not_ended())

    def finish(self) -> None:
        """Stop the client and the timers, let the engine's process go, and say that the application has left."""
        self.ending.stop()
        self.client.stop()
        self.commands.stop()
        self.process.let_go()
        self.left.emit()
