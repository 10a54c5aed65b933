"""Collaborations: a card for each that this computer has joined or founded, and the ways to others."""

from typing import Final

import msgspec
from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.commands.joining import JoinCommand
from app.engine.store import Store
from app.pages.page import GAP, Page
from app.views.collaboration_card import CollaborationCard
from app.views.keeping import Keeping
from app.widgets.labels import card, label, sentence
from app.words import text
from core.api.hosting import JoinedView
from core.api.snapshot import Snapshot

AGAIN_MS: Final = 15_000
"""Pause between two looks at the list while the page is seen."""


class CollaborationsPage(Page):
    """The page of all collaborations.

    Args:
        store: Tells which one is served now.
        listing: Lists them.
        keeping: Serves, leaves, hosts and invites.
        over: The window, for dialogs.
    """

    needs_engine = False
    needs_collaboration = False
    join_asked = Signal()
    """The person wants to join another one, or to found one."""
    alone_asked = Signal()
    """The person wants to train alone."""

    def __init__(self, store: Store, listing: JoinCommand, keeping: JoinCommand, over: QWidget) -> None:
        super().__init__(store, text.tr("Collaborations"))
        tr = text.tr
        self._listing = listing
        self._views: list[JoinedView] = []
        self._listed = False
        self.far = False
        """Whether the engine is another computer's, whose list of collaborations is there."""
        self._known: object = None
        self.cards: dict[str, CollaborationCard] = {}
        """By id, as they are shown."""
        self._said = sentence(tone="muted")
        self.keeping = Keeping(keeping, over)
        self._list = QVBoxLayout()
        self._list.setSpacing(GAP)
        self.again = QTimer(self, interval=AGAIN_MS)
        self.again.timeout.connect(self.refresh)
        self.join = QPushButton(tr("Join another…"))
        self.alone = QPushButton(tr("Try alone"))
        self.column.addWidget(self._said)
        self.column.addLayout(self._list)
        self.column.addWidget(self._others())
        self.column.addStretch(1)
        self.join.clicked.connect(self.join_asked)
        self.alone.clicked.connect(self.alone_asked)
        self.keeping.began.connect(self._wait)
        self.keeping.ended.connect(self._settle)
        self._say(tr("Looking…"))

    @property
    def said(self) -> str:
        """What is under way, or came of the last wish."""
        return self._said.text()

    def opened(self) -> None:
        """Look at the list again."""
        self.refresh()
        self.again.start()

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop looking: nobody sees the page now."""
        super().hideEvent(event)
        self.again.stop()

    def refresh(self) -> None:
        """List them; what was listed before stays until then."""
        if self.far:
            self._say(text.tr("This is done on the computer itself."))
            self.join.setEnabled(False)
            self.alone.setEnabled(False)
            return
        self._listing.kept(self.show_views)

    def show_views(self, views: list[JoinedView]) -> None:
        """Show what is listed, with what the engine says of it now."""
        if not self._listed:
            self._say("")
        self._views, self._listed = views, True
        self._show()

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show which one is served, and look at the list where that has changed."""
        served = snapshot.collaboration.id if snapshot.collaboration is not None else ""
        known = (served, snapshot.passed_over, self.store.verdict.code, self.store.snapshot is None)
        if known != self._known:
            self._known = known
            self.refresh()
        self._show()

    def _show(self) -> None:
        """Bring the cards up to this moment, each with the buttons that it had."""
        views = [self._live(view) for view in self._views]
        known = self.store.snapshot.collaboration if self.store.snapshot is not None else None
        if known is not None and self._listed and not views:
            views = [self._live(JoinedView(id=known.id, name=known.name, summary=known.summary, alone=True))]
        if [view.id for view in views] != list(self.cards):
            for gone in self.cards.keys() - {view.id for view in views}:
                self.cards.pop(gone).deleteLater()
            self.cards = {view.id: self.cards.get(view.id) or self._card(view) for view in views}
            for place, shown in enumerate(self.cards.values()):
                self._list.insertWidget(place, shown)
        first = next((view.name for view in views if view.served), "") or next((view.name for view in views), "")
        joined = [view for view in self._views if view.joined]
        for view in views:
            self.cards[view.id].show_view(view, self.store.verdict, first=first, others=len(joined) > 1)
        self.alone.setEnabled(not joined)

    def _live(self, view: JoinedView) -> JoinedView:
        """What the engine says of it now counts more than the list, which is some seconds old."""
        snapshot = self.store.snapshot
        if snapshot is None:
            return msgspec.structs.replace(view, served=False)
        known = snapshot.collaboration
        if known is not None and known.id == view.id:
            return msgspec.structs.replace(view, served=True, why_not=None, samples=snapshot.me.samples)
        why = next((passed.why for passed in snapshot.passed_over if passed.id == view.id), view.why_not)
        return msgspec.structs.replace(view, served=False, why_not=why)

    def _card(self, view: JoinedView) -> CollaborationCard:
        made = CollaborationCard(view)
        made.serve_asked.connect(self.keeping.serve)
        made.invite_asked.connect(self.keeping.invite)
        made.host_asked.connect(self.keeping.host)
        made.leave_asked.connect(self.keeping.leave)
        return made

    def _wait(self, words: str) -> None:
        self._say(words)
        for shown in self.cards.values():
            shown.enable(on=False)

    def _settle(self, words: str) -> None:
        self._say(words)
        for shown in self.cards.values():
            shown.enable(on=True)
        self.refresh()

    def _say(self, words: str) -> None:
        self._said.setText(words)
        self._said.setVisible(bool(words))

    def _others(self) -> QFrame:
        frame, column = card(margin=2 * GAP, spacing=GAP // 2)
        tr = text.tr
        column.addWidget(label(tr("Another one?"), bold=True))
        words = sentence(tone="muted")
        words.setText(
            tr(
                "With a link, from a list of open ones, or one of your own. "
                "This computer trains alone where it has joined none."
            )
        )
        column.addWidget(words)
        row = QHBoxLayout()
        for button in (self.join, self.alone):
            row.addWidget(button)
        row.addStretch(1)
        column.addLayout(row)
        return frame
