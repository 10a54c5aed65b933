"""Runs a command of Potluck that answers with one line of JSON."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, QProcess


class LineCommand(QObject):
    """Runs a command, one at a time; a new question ends the one before.

    Args:
        home: The home that it is about.
        program: How a command of Potluck is run; empty: it is not.
    """

    def __init__(self, home: Path, program: Sequence[str], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._home = home
        self._program = list(program)
        self._process: QProcess | None = None

    def ask(self, words: Sequence[str], told: Callable[[bytes], object]) -> None:
        """Run the command with its words.

        Args:
            words: The command's.
            told: Gets its last line; empty: it could not be run.
        """
        self.stop()
        if not self._program:
            told(b"")
            return
        process = self._process = QProcess(self)
        process.finished.connect(lambda *_: told(self._last_line(process)))
        process.errorOccurred.connect(
            lambda error: told(self._last_line(process)) if error is QProcess.ProcessError.FailedToStart else None
        )
        process.start(self._program[0], [*self._program[1:], *words, "--json", "--home", str(self._home)])
        process.closeWriteChannel()

    def stop(self) -> None:
        """Nobody waits for the answer any more."""
        if self._process is not None:
            process, self._process = self._process, None
            process.finished.disconnect()
            process.kill()
            process.waitForFinished(1000)
            process.deleteLater()

    def _last_line(self, process: QProcess) -> bytes:
        lines = bytes(process.readAllStandardOutput().data()).splitlines()
        self._process = None
        process.deleteLater()
        return lines[-1] if lines else b""
