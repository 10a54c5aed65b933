"""Runs `potluck doctor`: the same checks as on the command line, in a process of its own."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, QProcess, Signal


class Checked(msgspec.Struct, frozen=True):
    """One line that the command printed."""

    name: str = ""
    level: str = ""
    """"fine", "note" or "problem"."""
    sentence: str = ""
    advice: str = ""


class DoctorCommand(QObject):
    """Runs the command, one at a time.

    Args:
        home: The home that is checked.
        program: How a command of Potluck is run.
    """

    found = Signal(object)
    """All that was found: a list of Checked; empty: the command could not be run."""

    def __init__(self, home: Path, program: Sequence[str], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._program = [*program, "doctor", "--json", "--home", str(home)] if program else []
        self._process = QProcess(self)
        self._process.finished.connect(self._finish)
        self._process.errorOccurred.connect(self._fail)

    @property
    def runs(self) -> bool:
        """Whether it is being checked now."""
        return self._process.state() is not QProcess.ProcessState.NotRunning

    def start(self) -> None:
        """Check this computer, unless it is being checked; `found` follows."""
        if not self._program:
            self.found.emit([])
        elif not self.runs:
            self._process.start(self._program[0], self._program[1:])

    def stop(self) -> None:
        """Nobody waits for the findings any more."""
        if self.runs:
            self._process.blockSignals(True)
            self._process.kill()
            self._process.waitForFinished(1000)
            self._process.blockSignals(False)

    def _fail(self, error: QProcess.ProcessError) -> None:
        if error is QProcess.ProcessError.FailedToStart:
            self.found.emit([])

    def _finish(self) -> None:
        lines = bytes(self._process.readAllStandardOutput().data()).splitlines()
        try:
            self.found.emit([msgspec.json.decode(line, type=Checked) for line in lines])
        except msgspec.DecodeError:
            self.found.emit([])
