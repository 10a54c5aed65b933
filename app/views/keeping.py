"""What a person does with one of their collaborations: serve it, invite somebody, leave it, run its backbone."""

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.commands.joining import Answer, JoinCommand
from app.views.inviting import InviteDialog
from app.views.leaving import Leaving
from app.views.question import Question
from app.words import collaboration_text, text
from core.api.hosting import BackboneState, JoinedView


class Keeping(QObject):
    """Does it by commands, one at a time, and asks before what is lost otherwise.

    Args:
        command: Does it.
        over: The widget that dialogs open over.
    """

    began = Signal(str)
    """A sentence on what is under way."""
    ended = Signal(str)
    """A sentence on what came of it; empty: what the cards show."""
    went = Signal(object)
    """The Answer of the command: another collaboration is the current one."""

    def __init__(self, command: JoinCommand, over: QWidget) -> None:
        super().__init__(over)
        self._command, self._over = command, over
        self.leaving, self.inviting = Leaving(command, over), InviteDialog(command, over)
        self.leaving.left.connect(lambda name: self.ended.emit(text.left(name)))
        self.leaving.failed.connect(lambda problem: self.ended.emit(text.problem(problem)))

    def serve(self, view: JoinedView) -> None:
        """Take part in this one from now on."""
        self.began.emit(text.tr("Asking the organiser's computer…"))
        self._command.go(view, self._take_gone)

    def invite(self, view: JoinedView) -> None:
        """Get a link for somebody."""
        self.inviting.ask(view)

    def leave(self, view: JoinedView) -> None:
        """Take part in it no more, once the person has said so again."""
        self.leaving.ask(view.id, view.name, collaboration_text.leaving(view))

    def host(self, view: JoinedView) -> None:
        """Start its backbone on this computer, or stop it once the person has said so again."""
        if view.backbone is BackboneState.OFF:
            self._host(view, on=True)
            return
        self.box = Question(
            text.tr("Stop the backbone of {name}?", text.plain(view.name)),
            self._over,
            means=collaboration_text.stopping(view),
            yes=text.tr("&Stop it"),
            then=lambda: self._host(view, on=False),
        )

    def _host(self, view: JoinedView, *, on: bool) -> None:
        self.began.emit(text.tr("A moment…"))
        self._command.host(view, self._take_gone if on else self._take_stopped, on=on)

    def _take_gone(self, answer: Answer) -> None:
        self._take_stopped(answer)
        if answer.problem is None:
            self.went.emit(answer)

    def _take_stopped(self, answer: Answer) -> None:
        self.ended.emit(text.problem(answer.problem) if answer.problem is not None else "")
