"""What a person does with the collaboration that is served, whichever page is open: save its model, invite, leave."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.commands.joining import JoinCommand
from app.pages.collaborations import CollaborationsPage
from app.pages.model import ModelPage
from app.views.actions import Actions
from app.views.leaving import Leaving
from app.words import text
from core.api.hosting import JoinedView


class ServedActions(QObject):
    """Carries the menu's entries out, on the page where their buttons are.

    Args:
        actions: The entries.
        command: Lists what was joined, and leaves.
        collaborations: Invites, and leaves.
        model: Saves the model.
        over: The widget that dialogs open over.
    """

    said = Signal(str)
    """A sentence on what came of it."""

    def __init__(
        self,
        actions: Actions,
        command: JoinCommand,
        *,
        collaborations: CollaborationsPage,
        model: ModelPage,
        over: QWidget,
    ) -> None:
        super().__init__(over)
        self._actions, self._command, self._page = actions, command, collaborations
        self.leaving = Leaving(command, over)
        """Asks about the one that the engine was in, which may have shut this computer out."""
        self.leaving.left.connect(lambda name: self.said.emit(text.left(name)))
        actions.save.triggered.connect(actions.pages["model"].trigger)
        actions.save.triggered.connect(model.save)
        actions.invite.triggered.connect(lambda: self._with_served(self._invite))
        actions.leave.triggered.connect(lambda: self._with_served(collaborations.keeping.leave))
        actions.leave_asked.connect(self.leave)

    def leave(self) -> None:
        """Ask about the collaboration that the engine was in; where it was in none, show all."""
        snapshot = self._page.store.snapshot
        known = snapshot.collaboration if snapshot is not None else None
        if self._page.far:
            self.said.emit(text.tr("This is done on the computer itself."))
        elif known is None:
            self._actions.pages["collaborations"].trigger()
        else:
            self.leaving.ask(known.id, known.name)

    def _with_served(self, then: Callable[[JoinedView], object]) -> None:
        """Show all collaborations, and go on with the one that is served, or comes first."""
        self._actions.pages["collaborations"].trigger()
        if not self._page.far:
            self._command.kept(lambda views: self._go_on(views, then))

    def _go_on(self, views: list[JoinedView], then: Callable[[JoinedView], object]) -> None:
        joined = [view for view in views if view.joined and not view.alone]
        chosen = next((view for view in joined if view.served), None) or next(iter(joined), None)
        if chosen is None:
            self.said.emit(text.tr("This computer trains alone: join a collaboration first, or start one."))
        else:
            then(chosen)

    def _invite(self, view: JoinedView) -> None:
        if view.closed:
            self.said.emit(text.tr("{name} lets nobody new in.", text.plain(view.name)))
        else:
            self._page.keeping.invite(view)
