"""Runs a command of Potluck that answers with lines of JSON: the same program as on the command line."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, QProcess

from core.api.sentence import Said
from core.api.snapshot import ProblemView


class LineAnswer(msgspec.Struct, frozen=True):
    """A line that a command printed, as far as all commands are alike."""

    event: str = ""
    code: str = ""
    message: str = ""
    hint: str = ""
    said: Said = ()

    @property
    def trouble(self) -> ProblemView:
        """What is wrong, where the line says so."""
        return ProblemView(self.code, self.message, self.hint, self.said)


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
        self._told: Callable[[list[bytes]], object] | None = None
        self._heard: Callable[[bytes], object] | None = None
        self._lines: list[bytes] = []

    @property
    def runs(self) -> bool:
        """Whether an answer is waited for."""
        return self._process is not None

    def ask(
        self,
        words: Sequence[str],
        told: Callable[[list[bytes]], object],
        *,
        said: str = "",
        heard: Callable[[bytes], object] | None = None,
    ) -> None:
        """Run the command with its words.

        Args:
            words: The command's.  Other people of this computer can read them.
            told: Gets its lines; none: it could not be run.
            said: Its standard input, a line.  Nobody else can read that.
            heard: Gets each line as soon as it comes.
        """
        self.stop()
        if not self._program:
            told([])
            return
        self._told, self._heard, self._lines = told, heard, []
        process = self._process = QProcess(self)
        process.readyReadStandardOutput.connect(self._read)
        process.finished.connect(self._finish)
        process.errorOccurred.connect(self._fail)
        process.start(self._program[0], [*self._program[1:], *words, "--json", "--home", str(self._home)])
        process.write(f"{said}\n".encode())
        process.closeWriteChannel()

    def stop(self) -> None:
        """Nobody waits for the answer any more."""
        process = self._let_go()
        if process is not None:
            process.kill()
            process.waitForFinished(1000)

    def _read(self) -> None:
        """Take the lines that are whole."""
        while self._process is not None and self._process.canReadLine():
            line = bytes(self._process.readLine().data()).rstrip()
            self._lines.append(line)
            if self._heard is not None:
                self._heard(line)

    def _finish(self) -> None:
        self._read()
        told, process = self._told, self._let_go()
        if told is not None and process is not None:
            told([*self._lines, *bytes(process.readAllStandardOutput().data()).splitlines()])

    def _fail(self, error: QProcess.ProcessError) -> None:
        if error is QProcess.ProcessError.FailedToStart:
            self._finish()

    def _let_go(self) -> QProcess | None:
        """The process, from which nothing is heard any more."""
        process, self._process, self._told = self._process, None, None
        if process is not None:
            process.readyReadStandardOutput.disconnect(self._read)
            process.finished.disconnect(self._finish)
            process.errorOccurred.disconnect(self._fail)
            process.deleteLater()
        return process
