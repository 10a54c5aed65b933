"""Runs `potluck account`: the person's own computers, one more, one less, and the two ways out."""

import contextlib
from collections.abc import Callable

import msgspec

from app.commands.line_command import LineCommand
from app.words import text
from core.api.account import AccountAct, AccountView
from core.api.snapshot import ProblemView

Told = Callable[[AccountView | ProblemView], object]


class AccountCommand:
    """Asks about the account in the collaboration that is served; a new question ends the one before.

    Args:
        command: Runs it.
    """

    def __init__(self, command: LineCommand) -> None:
        self._command = command

    def ask(self, act: AccountAct, told: Told, *, who: str = "") -> None:
        """Do something, and tell what the account is then, or why it cannot be done.

        Args:
            act: What the person wants; they have said yes.
            told: Hears the outcome.
            who: Key of the computer that is ended.
        """
        words = ["account", act, *([who] if who else []), "--yes"]
        self._command.ask(words, lambda lines: told(_outcome(lines)))

    def stop(self) -> None:
        """Nobody waits for the answer any more."""
        self._command.stop()


def _outcome(lines: list[bytes]) -> AccountView | ProblemView:
    last = lines[-1] if lines else b""
    with contextlib.suppress(msgspec.DecodeError):
        return msgspec.json.decode(last, type=AccountView)
    with contextlib.suppress(msgspec.DecodeError):
        return msgspec.json.decode(last, type=ProblemView)
    return ProblemView("account", text.tr("The account could not be asked about."), "")
