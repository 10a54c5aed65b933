"""The engine's end: it is asked, and ended by force where it does not follow."""

from pathlib import Path

from PySide6.QtCore import QElapsedTimer, QObject, QTimer, Signal

from app.intents import Intents
from core.api.commands import EngineFile
from core.api.running import end_by_force, living, read_engine_file

PATIENCE_MS = 5000
"""How long an engine that was asked to quit may take to end."""
LOOK_MS = 100


class EngineEnding(QObject):
    """Ends the engine of a home, with all that it started.

    Args:
        home: The home directory.
        intents: Asks the engine.
    """

    ended = Signal()
    """After `ask`: its process is gone, or could not even be ended by force."""

    def __init__(self, home: Path, intents: Intents, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._home = home
        self._intents = intents
        self._file: EngineFile | None = None
        self._asked = QElapsedTimer()
        self._looking = QTimer(self, interval=LOOK_MS)
        self._looking.timeout.connect(self._look)

    def ask(self) -> None:
        """Have the engine end; `ended` follows."""
        self._file = read_engine_file(self._home)
        self._intents.stop_engine()
        self._asked.start()
        self._looking.start()

    def stop(self) -> None:
        """Wait for it no longer."""
        self._looking.stop()

    def force(self) -> bool:
        """End it now; returns whether nothing of it lives."""
        file = read_engine_file(self._home)
        return file is None or end_by_force(self._home, file)

    def _look(self) -> None:
        """Whether it has ended; the file alone does not tell, which goes before the process does."""
        lives = self._file is not None and living(self._file) is not None
        if lives and self._asked.elapsed() < PATIENCE_MS:
            return
        self._looking.stop()
        if self._file is not None and lives:
            end_by_force(self._home, self._file)
        self.ended.emit()
