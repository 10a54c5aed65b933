"""Asks `potluck join` about a link, and has it join: the same program as on the command line, without its questions."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, QProcess

from app import text
from core.api.snapshot import ProblemView

Told = Callable[["Answer"], object]


class Answer(msgspec.Struct, frozen=True):
    """The last line that the command printed, as far as it is used here."""

    event: str = ""
    name: str = ""
    organiser: str = ""
    fingerprint: str = ""
    summary: str = ""
    download_bytes: int = 0
    running: bool = False
    """An engine runs, and goes to the collaboration."""
    code: str = ""
    message: str = ""
    hint: str = ""

    @property
    def problem(self) -> ProblemView | None:
        """Why it could not be done; None: it was."""
        return ProblemView(self.code, self.message, self.hint) if self.event in {"", "problem"} else None


class JoinCommand(QObject):
    """Runs the command, one at a time; a new question ends the one before.

    Args:
        home: The home in which a collaboration is kept.
        program: How a command of Potluck is run.
    """

    def __init__(self, home: Path, program: Sequence[str], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._home = home
        self._program = list(program)
        self._process: QProcess | None = None

    def look(self, link: str, told: Told) -> None:
        """Find out who runs the collaboration of a link and what for."""
        self._run(link, "--show", told)

    def join(self, link: str, told: Told) -> None:
        """Make it the current one; an engine that runs goes there."""
        self._run(link, "--yes", told)

    def stop(self) -> None:
        """Nobody waits for the answer any more."""
        if self._process is not None:
            self._process.finished.disconnect()
            self._process.kill()
            self._process.waitForFinished(1000)
            self._process.deleteLater()
            self._process = None

    def _run(self, link: str, how: str, told: Told) -> None:
        self.stop()
        process = self._process = QProcess(self)
        process.finished.connect(lambda *_: told(self._answer(process)))
        process.errorOccurred.connect(
            lambda error: told(_nothing()) if error is QProcess.ProcessError.FailedToStart else None
        )
        words = [*self._program[1:], "join", "-", how, "--json", "--home", str(self._home)]
        process.start(self._program[0], words)
        # By stdin: other people of this computer can read command lines, and the link holds an invitation.
        process.write(f"{text.one_line(link)}\n".encode())
        process.closeWriteChannel()

    def _answer(self, process: QProcess) -> Answer:
        lines = bytes(process.readAllStandardOutput().data()).splitlines()
        self._process = None
        process.deleteLater()
        try:
            return msgspec.json.decode(lines[-1], type=Answer) if lines else _nothing()
        except msgspec.DecodeError:
            return _nothing()


def _nothing() -> Answer:
    return Answer("problem", code="join", message=text.tr("The link could not be looked at."))
