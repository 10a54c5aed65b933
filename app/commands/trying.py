"""Asks what the model says of a text: by `potluck try --stay`, which keeps the model loaded while it is talked with."""

import contextlib
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta
from PySide6.QtCore import QObject, QProcess, QTimer

from app.commands.line_command import LineAnswer
from app.words import text
from core.api.score import WordGuess
from core.api.snapshot import ProblemView

TEXT_LETTERS_MAX: Final = 500
"""Upper bound on what can be asked in the window, letters."""
STEPS_MAX: Final = 1000
IDLE_MS: Final = 180_000
"""Time after the last question for which the model stays loaded: it takes some hundred megabytes of memory."""


class ModelAnswer(LineAnswer, frozen=True):
    """The line that the command printed, as far as it is used here."""

    text: str = ""
    """The text with its blanks filled, or how it goes on."""
    blanks: list[list[WordGuess]] = msgspec.field(default_factory=list)
    epoch: int = 0
    steps: Annotated[tuple[int, ...], Meta(max_length=STEPS_MAX)] = ()
    """Steps after which the model is kept here, the earliest first."""

    @property
    def problem(self) -> ProblemView | None:
        """Why there is no answer; None: there is one."""
        if self.event in ANSWERED:
            return None
        return self.trouble


Told = Callable[[ModelAnswer], object]
ANSWERED: Final = frozenset(("filled", "continued", "ready"))
EVENTS: Final = ANSWERED | {"problem"}


class ModelTalk(QObject):
    """A program that stays as long as somebody asks; questions are answered one after another.

    Args:
        home: The home that it is about.
        program: How a command of Potluck is run; empty: it is not.
    """

    def __init__(self, home: Path, program: Sequence[str], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._words = [*program, "try", "-", "--stay", "--json", "--home", str(home)] if program else []
        self._process: QProcess | None = None
        self._waiting: deque[Told] = deque()
        self.idle = QTimer(self, singleShot=True, interval=IDLE_MS)
        """Runs while nobody waits for an answer; its end is the program's."""
        self.idle.timeout.connect(self.stop)

    @property
    def runs(self) -> bool:
        """Whether the program is there."""
        return self._process is not None

    def ask(self, asked: str, told: Told, *, step: int | None = None) -> None:
        """Ask about a text, also while no engine runs.

        Args:
            asked: At most `TEXT_LETTERS_MAX` of it are used; empty: the model is only loaded.
            told: Gets the answer.
            step: After which step; None: the newest that is here.
        """
        if self._process is None and not self._start():
            told(_none())
            return
        self.idle.stop()
        self._waiting.append(told)
        question = {"text": text.one_line(asked)[:TEXT_LETTERS_MAX], "step": step}
        if self._process is not None:
            self._process.write(msgspec.json.encode(question) + b"\n")

    def stop(self) -> None:
        """End the program; who waits is told that there is no answer."""
        process = self._let_go()
        if process is not None:
            process.kill()
            process.waitForFinished(1000)

    def _start(self) -> bool:
        if not self._words:
            return False
        process = self._process = QProcess(self)
        process.readyReadStandardOutput.connect(self._read)
        process.finished.connect(self._finish)
        process.errorOccurred.connect(self._fail)
        process.start(self._words[0], self._words[1:])
        return self._process is not None

    def _read(self) -> None:
        while self._process is not None and self._process.canReadLine():
            line = bytes(self._process.readLine().data())
            with contextlib.suppress(msgspec.DecodeError):
                answer = msgspec.json.decode(line, type=ModelAnswer)
                if answer.event in EVENTS and self._waiting:
                    told = self._waiting.popleft()
                    if not self._waiting:
                        self.idle.start()
                    told(answer)

    def _finish(self) -> None:
        self._read()
        self._let_go()

    def _fail(self, error: QProcess.ProcessError) -> None:
        if error is QProcess.ProcessError.FailedToStart:
            self._let_go()

    def _let_go(self) -> QProcess | None:
        """The process, from which nothing is heard any more; who waits for it gets no answer."""
        process, self._process = self._process, None
        self.idle.stop()
        if process is not None:
            process.readyReadStandardOutput.disconnect(self._read)
            process.finished.disconnect(self._finish)
            process.errorOccurred.disconnect(self._fail)
            process.deleteLater()
        waiting, self._waiting = self._waiting, deque()
        for told in waiting:
            told(_none())
        return process


def _none() -> ModelAnswer:
    return ModelAnswer("problem", code="try", message=text.tr("The model gave no answer."))
