"""The window goes on as a newer version once the engine does, or at once where no engine runs."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject

from app.engine.intents import Intents
from app.engine.store import Store
from app.shell.main_window import MainWindow
from core.api.program_folder import begin_again, numbers
from core.api.version import VERSION


class Renewal(QObject):
    """Has the window end, and says what is to be started then.

    Args:
        home: The home directory, absolute.
        store: Has the snapshot.
        intents: Ask the engine.
        window: The window.
        leave: Ends the window, and leaves the engine alone.
    """

    def __init__(
        self, home: Path, store: Store, intents: Intents, window: MainWindow, leave: Callable[[], object]
    ) -> None:
        super().__init__(window)
        self._home, self._store, self._intents, self._window, self._leave = home, store, intents, window, leave
        self.command: list[str] = []
        """What is to be started when the window has ended; empty: nothing."""
        store.changed.connect(self._follow)

    def ask(self) -> None:
        """The person wants the newest version: an engine that runs finishes its round first."""
        if self._store.snapshot is not None:
            self._intents.renew()
        else:
            self.begin()

    def begin(self) -> None:
        """End, and go on as the newest version, if there is one."""
        hidden = [] if self._window.isVisible() else ["--hidden"]
        command = begin_again([*hidden, "--home", str(self._home)])
        if command is not None and not self.command and not self._window.far:
            self.command = command
            self._leave()

    def follow(self, reason: str) -> None:
        """The way to the engine changed: one of another version may be there, which this window cannot show."""
        if reason == "version":
            self.begin()

    def _follow(self) -> None:
        snapshot = self._store.snapshot
        if snapshot is not None and numbers(snapshot.version) > numbers(VERSION):
            self.begin()
