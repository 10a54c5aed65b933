"""What starts at the person's login: a choice that the system keeps, and not the engine."""

from collections.abc import Callable

import msgspec
from PySide6.QtWidgets import QComboBox, QGridLayout

from app.commands.line_command import LineAnswer, LineCommand
from app.widgets.field import Field
from app.words import text
from core.api.sentence import later
from core.api.snapshot import ProblemView


class _Told(LineAnswer, frozen=True):
    """The line that the command printed, as far as it is used here."""

    startup: str = ""


class LoginField:
    """Shows what starts, and has `potluck startup` change it.

    Args:
        grid: Gets the field.
        command: Runs it.
    """

    def __init__(self, grid: QGridLayout, command: LineCommand) -> None:
        tr = text.tr
        self._command = command
        self._kept = ""
        self.box = QComboBox()
        for wish, words in (
            ("no", tr("Nothing of Potluck")),
            ("window", tr("The window, hidden")),
            ("engine", tr("The engine, without a window")),
        ):
            self.box.addItem(words, wish)
        self.field = Field(grid, self.box, name=tr("When I &log in starts"))
        self.box.setEnabled(False)

    def read(self) -> None:
        """Ask what starts now; until it is known nothing can be chosen."""
        self._kept = ""
        self.box.setEnabled(False)
        self.field.show_problem(None)
        self._command.ask(["startup"], self._show)

    def save(self, done: Callable[[bool], object]) -> None:
        """Keep the choice.

        Args:
            done: Is told whether it is kept; if not, the field says why.
        """
        wish = self.box.currentData()
        if wish == self._kept or not self._kept:
            done(True)
            return
        self._command.ask(["startup", wish], lambda lines: done(self._show(lines)))

    def _show(self, lines: list[bytes]) -> bool:
        try:
            told = msgspec.json.decode(lines[-1] if lines else b"{}", type=_Told)
        except msgspec.DecodeError:
            told = _Told()
        if not told.startup:
            message = told.message or later("What starts at login could not be found out.")
            self.field.show_problem(ProblemView(told.code, message, told.hint, told.said) if lines else None)
            return False
        self._kept = told.startup
        self.box.setCurrentIndex(max(0, self.box.findData(told.startup)))
        self.box.setEnabled(True)
        return True
