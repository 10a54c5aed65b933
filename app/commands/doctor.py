"""Runs `potluck doctor`: the same checks as on the command line, in a process of its own."""

import msgspec
from PySide6.QtCore import QObject, Signal

from app.commands.line_command import LineCommand
from core.api.sentence import Said


class Checked(msgspec.Struct, frozen=True):
    """One line that the command printed."""

    name: str = ""
    level: str = ""
    """"fine", "note" or "problem"."""
    sentence: str = ""
    advice: str = ""
    said: Said = ()


class DoctorCommand(QObject):
    """Checks this computer, once at a time.

    Args:
        command: Runs the command.
    """

    found = Signal(object)
    """All that was found: a list of Checked; empty: the command could not be run."""

    def __init__(self, command: LineCommand, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._command = command

    @property
    def runs(self) -> bool:
        """Whether it is being checked now."""
        return self._command.runs

    def start(self) -> None:
        """Check this computer, unless it is being checked; `found` follows."""
        if not self.runs:
            self._command.ask(["doctor"], self._finish)

    def stop(self) -> None:
        """Nobody waits for the findings any more."""
        self._command.stop()

    def _finish(self, lines: list[bytes]) -> None:
        try:
            self.found.emit([msgspec.json.decode(line, type=Checked) for line in lines])
        except msgspec.DecodeError:
            self.found.emit([])
