"""The question whether a person means to leave a collaboration."""

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.commands.joining import Answer, JoinCommand
from app.views.question import Question
from app.words import text


class Leaving(QObject):
    """Asks, and has the collaboration left.

    Args:
        command: Leaves.
        over: The widget that it is asked over.
    """

    left = Signal(str)
    """The name of the one that was left."""
    failed = Signal(object)
    """The problem that kept it from being left."""

    def __init__(self, command: JoinCommand, over: QWidget) -> None:
        super().__init__(over)
        self._command = command
        self._over = over

    def ask(self, which: str, name: str, means: str = "") -> None:
        """Show the question.

        Args:
            which: The collaboration's id.
            name: What it is called; empty: not known.
            means: What leaving does; empty: what it always does.
        """
        tr = text.tr
        self.box = Question(
            tr("Leave {collaboration}?", text.plain(name)) if name else tr("Leave this collaboration?"),
            self._over,
            means=means or tr("Its link is forgotten then, its files stay."),
            yes=tr("Lea&ve it"),
            then=lambda: self._command.leave(which, lambda answer: self._take(answer, name)),
        )

    def _take(self, answer: Answer, name: str) -> None:
        if answer.problem is not None:
            self.failed.emit(answer.problem)
        else:
            self.left.emit(answer.name or name)
