"""The engine's end: it is asked, and ended by force where it does not follow."""

import threading
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QElapsedTimer, QObject, QTimer, Signal

from app.engine.intents import Intents
from core.api.commands import EngineFile
from core.api.running import end_by_force, living

PATIENCE_MS = 5000
"""How long an engine that was asked to quit may take to end."""
LOOK_MS = 100


class EngineEnding(QObject):
    """Ends the engine of a home, with all that it started.

    Args:
        home: The home directory.
        intents: Asks the engine.
        engine: Tells which one this window has talked to last; `engine.json` may be gone by then, or another engine's.
    """

    ended = Signal(bool)
    """After `ask` or `force`: whether nothing of it lives."""

    def __init__(
        self, home: Path, intents: Intents, engine: Callable[[], EngineFile | None], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._home = home
        self._intents = intents
        self._engine = engine
        self._file: EngineFile | None = None
        self._asked = QElapsedTimer()
        self._looking = QTimer(self, interval=LOOK_MS)
        self._looking.timeout.connect(self._look)

    def ask(self) -> None:
        """Have the engine end; `ended` follows."""
        self._file = self._engine()
        self._intents.stop_engine()
        self._asked.start()
        self._looking.start()

    def stop(self) -> None:
        """Wait for it no longer."""
        self._looking.stop()

    def force(self) -> None:
        """End it now; `ended` follows."""
        self._looking.stop()
        threading.Thread(target=self._end, args=(self._engine(),), name="ending", daemon=True).start()

    def _look(self) -> None:
        """Whether it has ended; the file alone does not tell, which goes before the process does."""
        if self._file is None or living(self._file) is None:
            self._looking.stop()
            self.ended.emit(True)
        elif self._asked.elapsed() >= PATIENCE_MS:
            self.force()

    def _end(self, file: EngineFile | None) -> None:
        """In a thread of its own, which is not the window's: the system may take seconds."""
        self.ended.emit(file is None or end_by_force(self._home, file))
