"""Asks `potluck try` what the newest model says of a text."""

import contextlib
from collections.abc import Callable
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from app.commands.line_command import LineCommand
from app.words import text
from core.api.sentence import Said
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
    said: Said = ()

    @property
    def problem(self) -> ProblemView | None:
        """Why there is no answer; None: there is one."""
        if self.event in {"filled", "continued"}:
            return None
        return ProblemView(self.code, self.message, self.hint, self.said)


def ask_model(command: LineCommand, asked: str, told: Callable[[ModelAnswer], object]) -> None:
    """Ask the newest model on this computer about a text, also while no engine runs.

    Args:
        command: Runs the command.
        asked: At most `TEXT_LETTERS_MAX` of it are used.
        told: Gets the answer.
    """
    command.ask(["try", "-"], lambda lines: told(_answer(lines)), said=text.one_line(asked)[:TEXT_LETTERS_MAX])


def _answer(lines: list[bytes]) -> ModelAnswer:
    with contextlib.suppress(IndexError, msgspec.DecodeError):
        answer = msgspec.json.decode(lines[-1], type=ModelAnswer)
        if answer.message or answer.problem is None:
            return answer
    return ModelAnswer("problem", code="try", message=text.tr("The model gave no answer."))
