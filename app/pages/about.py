"""About and trust: who may let people in, what is sent, under which licence, and by which keys."""

from collections.abc import Hashable, Mapping
from types import MappingProxyType

from PySide6.QtCore import Qt

from app.commands.account import AccountCommand
from app.engine.reports import Reports
from app.engine.store import Store
from app.licences import bundled
from app.looks.theme import Theme
from app.pages.asking import AskingPage
from app.pages.page import GAP
from app.views.account import AccountBox
from app.views.facts import Facts
from app.views.moderators import Moderators
from app.views.tending import Tending
from app.widgets.labels import card, label, sentence
from app.words import about_text, data_text, text
from core.api.moderation import CopiesView, ModerationView, PeopleView
from core.api.reports import TrustView
from core.api.settings import Wish
from core.api.snapshot import Snapshot
from core.api.version import VERSION

MODERATORS_ONLY: Mapping[str, Wish | None] = MappingProxyType({"people": None, "copies": None})
"""What the page asks once it knows that this person moderates: a backbone answers nobody else."""


class AboutPage(AskingPage):
    """The page that tells what is installed here, and which keys it trusts."""

    needs_engine = False

    def __init__(self, store: Store, reports: Reports, account: AccountCommand, theme: Theme) -> None:
        tr = text.tr
        super().__init__(store, reports, tr("About and trust"), {"trust": None, "moderation": None})
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.facts = Facts(
            {
                "name": tr("Name"),
                "summary": tr("What for"),
                "sources": tr("Where its text comes from"),
                "rights": tr("Licence and credit"),
                "organiser": tr("Who lets people in"),
                "organiser_key": tr("Fingerprint of that key"),
                "id": tr("Digest of its numbers"),
                "account": tr("Account"),
                "me": tr("This computer"),
                "my_key": tr("Fingerprint of its key"),
            }
        )
        frame, column = card(margin=2 * GAP, spacing=GAP)
        column.addWidget(label(tr("This collaboration"), bold=True))
        column.addWidget(self.facts)
        compare = sentence(tone="muted")
        compare.setText(tr("Compare a fingerprint with the one that its owner shows you: it cannot be imitated."))
        column.addWidget(compare)
        self.column.addWidget(frame)
        self._mine, column = card(margin=2 * GAP, spacing=GAP)
        self.account = AccountBox(account)
        column.addWidget(self.account)
        self._mine.hide()
        self.column.addWidget(self._mine)
        self._deciders, column = card(margin=2 * GAP, spacing=GAP)
        self.moderators = Moderators()
        self.moderators.signing.connect(reports.sign)
        self.moderators.drilled.connect(reports.answer_drill)
        column.addWidget(self.moderators)
        self.tending = Tending(theme)
        self.tending.going_back.connect(reports.go_back)
        self.tending.pages_asked.connect(lambda: reports.ask("page"))
        column.addWidget(self.tending)
        self._deciders.hide()
        self.column.addWidget(self._deciders)
        frame, column = card(margin=2 * GAP, spacing=GAP // 2)
        for title, words in about_text.about():
            column.addWidget(label(title, bold=True))
            line = sentence(tone="muted")
            line.setText(words)
            column.addWidget(line)
            column.addSpacing(GAP)
        self.column.addWidget(frame)
        frame, column = card(margin=2 * GAP, spacing=GAP // 2)
        column.addWidget(label(about_text.version(VERSION), bold=True))
        self._licence, self._bundled = sentence(tone="muted"), sentence(tone="muted")
        self._licence.setText(about_text.licence())
        column.addWidget(self._licence)
        column.addWidget(self._bundled)
        self.column.addWidget(frame)
        self.column.addStretch(1)

    def opened(self) -> None:
        """Ask for the person's computers, too: the backbone knows them."""
        super().opened()
        if self._mine.isVisibleTo(self):
            self.account.refresh()

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show what a snapshot says of the collaboration."""
        super().show_snapshot(snapshot)
        known = snapshot.collaboration
        self._mine.setVisible(known is not None)
        self.facts.show_values(
            {
                "name": text.tr(known.name) if known is not None else "",
                "summary": text.tr(known.summary) if known is not None else "",
                "sources": data_text.sources(known.sources) if known is not None else "",
                "rights": data_text.rights(known.sources) if known is not None else "",
                "organiser": text.tr(known.organiser) if known is not None else "",
                "id": about_text.grouped(known.id) if known is not None else "",
                "account": snapshot.me.name if known is not None else "",
                "me": f"{snapshot.me.name}, {snapshot.me.peer}",
            }
        )

    def about(self, snapshot: Snapshot) -> Hashable:
        """The answers follow from the collaboration that is served."""
        return snapshot.collaboration.id if snapshot.collaboration is not None else ""

    def show_reports(self) -> None:
        """Show the keys; and, once, what Potluck is made with."""
        if not self._bundled.text():
            self._bundled.setText(about_text.made_with(bundled()))
        trust = self.reports.last(TrustView)
        if trust is not None:
            self.facts.show_values({"organiser_key": trust.organiser, "my_key": trust.mine})
        moderation = self.reports.last(ModerationView)
        self._deciders.setVisible(moderation is not None)
        if moderation is not None:
            self.moderators.show_view(moderation)
            self.tending.setVisible(moderation.moderates)
            if moderation.moderates and MODERATORS_ONLY.keys() - self._asks.keys():
                self._asks = {**self._asks, **MODERATORS_ONLY}  # an answer may come while it is asked
                self.ask()
        if (people := self.reports.last(PeopleView)) is not None:
            self.tending.show_people(people)
        if (copies := self.reports.last(CopiesView)) is not None:
            self.tending.show_copies(copies)
