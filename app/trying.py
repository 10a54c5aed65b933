"""Asks `potluck try` what the newest model says of a text."""

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta
from PySide6.QtCore import QObject, QProcess

from app import text
from core.api.snapshot import ProblemView

TEXT_LETTERS_MAX: Final = 500
"""Upper bound on what can be asked in the window, letters."""


class WordGuess(msgspec.Struct, frozen=True):
    """A word for a blank, and how probable it is."""

    text: str
    probability: Annotated[float, Meta(ge=0, le=1.001)]


class ModelAnswer(msgspec.Struct, frozen=True):
    """The line that the command printed, as far as it is used here."""

    event: str = ""
    text: str = ""
    """The text with its blanks filled, or how it goes on."""
    blanks: list[list[WordGuess]] = []
    epoch: int = 0
    code: str = ""
    message: str = ""
    hint: str = ""

    @property
    def problem(self) -> ProblemView | None:
        """Why there is no answer; None: there is one."""
        if self.event in {"filled", "continued"}:
            return None
        return ProblemView(self.code, self.message, self.hint)


class TryCommand(QObject):
    """Runs the command, one at a time, also while no engine runs.

    Args:
        home: The home whose newest model is asked.
        program: How a command of Potluck is run.
    """

    def __init__(self, home: Path, program: Sequence[str], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._home = home
        self._program = list(program)
        self._process: QProcess | None = None

    def ask(self, asked: str, told: Callable[[ModelAnswer], object]) -> None:
        """Ask about a text; nothing happens while an earlier question is open.

        Args:
            asked: At most `TEXT_LETTERS_MAX` of it are used.
            told: Gets the answer.
        """
        if self._process is not None:
            return
        process = self._process = QProcess(self)
        process.finished.connect(lambda *_: told(self._answer(process)))
        process.errorOccurred.connect(
            lambda error: told(self._answer(process)) if error is QProcess.ProcessError.FailedToStart else None
        )
        process.start(self._program[0], [*self._program[1:], "try", "-", "--json", "--home", str(self._home)])
        # By stdin: other people of this computer can read command lines.
        process.write(f"{text.one_line(asked)[:TEXT_LETTERS_MAX]}\n".encode())
        process.closeWriteChannel()

    def stop(self) -> None:
        """Nobody waits for the answer any more."""
        if self._process is not None:
            process, self._process = self._process, None
            process.finished.disconnect()
            process.kill()
            process.waitForFinished(1000)
            process.deleteLater()

    def _answer(self, process: QProcess) -> ModelAnswer:
        lines = bytes(process.readAllStandardOutput().data()).splitlines()
        self._process = None
        process.deleteLater()
        with contextlib.suppress(IndexError, msgspec.DecodeError):
            answer = msgspec.json.decode(lines[-1], type=ModelAnswer)
            if answer.message or answer.problem is None:
                return answer
        return ModelAnswer("problem", code="try", message=text.tr("The model gave no answer."))
