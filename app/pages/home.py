"""Home: what Potluck is doing, one thing to do about it, and the pot."""

from collections.abc import Hashable, Mapping
from types import MappingProxyType
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout

from app.commands.trying import ModelTalk
from app.engine.intents import Intents
from app.engine.reports import Reports
from app.engine.store import Store
from app.looks.theme import Theme
from app.pages.asking import AskingPage
from app.pages.page import GAP
from app.pages.verdict_actions import OFFERS_MAX, OfferButton
from app.views.actions import Actions
from app.views.header import Header
from app.views.try_box import TryBox
from app.widgets.days_picture import DaysPicture
from app.widgets.explained import Explained
from app.widgets.labels import Elided, card, label, sentence
from app.widgets.pot_fill import MINE, OTHERS, PotFill
from app.widgets.swatch import Swatch
from app.words import data_text, page_text, text
from core.api.reports import DAYS_MAX, DayGift, GiftHistory
from core.api.snapshot import LossView, Snapshot
from core.api.verdict import VerdictCode

MOODS: Final[Mapping[VerdictCode, str]] = MappingProxyType(
    {
        VerdictCode.CONTRIBUTING: "awake",
        VerdictCode.STARTING: "awake",
        VerdictCode.RESTING: "asleep",
        VerdictCode.PAUSED: "asleep",
        VerdictCode.WAITING: "asleep",
        VerdictCode.CHANGING: "awake",
        VerdictCode.NOT_CONNECTED: "sad",
        VerdictCode.NO_ANSWER: "sad",
        VerdictCode.PROBLEM: "sad",
    }
)

DAYS_SHOWN: Final = 14
POT_SHARE: Final = 0.34
"""Part of the page's height for the pot."""


class HomePage(AskingPage):
    """The page for somebody who looks for a second."""

    def __init__(
        self, store: Store, reports: Reports, intents: Intents, actions: Actions, trying: ModelTalk, *, theme: Theme
    ) -> None:
        super().__init__(store, reports, "", {"history": {"days": DAYS_MAX}})
        self.header = Header(store, intents, theme)
        self.offers = [OfferButton(store, actions, place) for place in range(OFFERS_MAX)]
        self.pot = PotFill(theme)
        self._level = sentence()
        self.sample = Explained(text.tr("What is a sample?"))
        self._today = label(factor=1.6, bold=True)
        self._gift = sentence(tone="muted")
        self.days = DaysPicture(theme)
        self._fortnight = sentence(tone="muted")
        self._collaboration = Elided()
        self._passed_over = sentence(tone="muted")
        self._data = sentence(tone="muted")
        self._data.setVisible(False)
        self._hint = sentence(tone="muted")
        self._hint.setVisible(False)
        self._model = sentence()
        self.trying = TryBox(trying, theme)
        self.trying.answered.connect(lambda: self.show_whole(self.trying))
        self._build()

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show the pot, today's gift, and a line about the model."""
        super().show_snapshot(snapshot)
        collaboration = snapshot.collaboration
        target = collaboration.target_samples if collaboration is not None else 0
        mood = MOODS[self.store.verdict.code]
        if target > 0 and self.store.steers:
            self.pot.show_level(snapshot.epoch_samples / target, snapshot.me.samples_pending / target, mood=mood)
        else:
            self.pot.show_level(0, 0, mood=mood)
        words = page_text.pot(snapshot)
        self._level.setText(words)
        if self.pot.accessibleName() != words:
            self.pot.setAccessibleName(words)
        self.sample.explain(page_text.sample(snapshot))
        meaning = collaboration.loss if collaboration is not None else LossView()
        self._collaboration.setText(text.collaboration(snapshot))
        words = page_text.passed_over(snapshot)
        self._passed_over.setText(words)
        self._passed_over.setVisible(bool(words))
        for line, words in ((self._data, data_text.trouble(snapshot)), (self._hint, text.hint(snapshot))):
            line.setText(words)
            line.setVisible(bool(words))
        hoped = page_text.unmeasured() if self.store.steers else ""
        self._model.setText(page_text.guesses(meaning) or hoped)
        self.trying.setVisible(snapshot.hosting is None)  # a model with experts is not whole here
        if snapshot.today.day:
            self._today.setText(text.duration(snapshot.today.seconds))
            said = (page_text.gift(snapshot.today), page_text.hosting(snapshot.hosting, snapshot.today))
            self._gift.setText(" ".join(filter(None, said)))
            self._show_days(snapshot.today)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give the pot its share of the new height."""
        super().resizeEvent(event)
        self.pot.grow(round(self.viewport().height() * POT_SHARE))

    def take_focus(self) -> None:
        """Home has its switch for a title."""
        self.header.switch.setFocus()

    def about(self, snapshot: Snapshot) -> Hashable:
        """The answers are about the days before today."""
        return snapshot.today.day

    def show_reports(self) -> None:
        """Show the last days."""
        if self.store.last is not None:
            self._show_days(self.store.last.today)

    def _show_days(self, today: DayGift) -> None:
        history = self.reports.last(GiftHistory)
        if history is None or not today.day:
            return
        days = page_text.last_days(history, today, DAYS_SHOWN)
        self.days.show_days(days)
        self._fortnight.setText(page_text.days([seconds for _, seconds in days]))

    def _build(self) -> None:
        frame, column = card(margin=2 * GAP, spacing=GAP)
        row = QHBoxLayout()
        row.setSpacing(3 * GAP)
        words = QVBoxLayout()
        words.setSpacing(GAP)
        words.addStretch(1)
        words.addWidget(self.header)
        offers = QHBoxLayout()
        offers.setSpacing(GAP)
        for offer in self.offers:
            offers.addWidget(offer)
        offers.addStretch(1)
        words.addLayout(offers)
        words.addSpacing(GAP)
        words.addWidget(self._data)
        words.addWidget(self._hint)
        words.addWidget(self._level)
        legend = QHBoxLayout()
        legend.setSpacing(GAP)
        for colour, name in ((MINE, text.tr("this computer")), (OTHERS, text.tr("the others"))):
            legend.addWidget(Swatch(colour))
            legend.addWidget(label(name, tone="muted"))
            legend.addSpacing(GAP)
        legend.addStretch(1)
        words.addLayout(legend)
        words.addWidget(self.sample)
        words.addStretch(1)
        row.addWidget(self.pot, alignment=Qt.AlignmentFlag.AlignVCenter)
        row.addLayout(words, stretch=1)
        column.addLayout(row)
        self.column.addWidget(frame)
        lower = QHBoxLayout()
        lower.setSpacing(GAP)
        frame, column = card(margin=2 * GAP, spacing=GAP // 2)
        column.addWidget(label(text.tr("Your gift today"), bold=True))
        column.addWidget(self._today)
        column.addWidget(self._gift)
        column.addStretch(1)
        lower.addWidget(frame, stretch=1)
        frame, column = card(margin=2 * GAP, spacing=GAP // 2)
        column.addWidget(label(text.tr("The last 14 days"), bold=True))
        column.addWidget(self.days, stretch=1)
        column.addWidget(self._fortnight)
        lower.addWidget(frame, stretch=1)
        self.column.addLayout(lower)
        frame, column = card(margin=2 * GAP, spacing=GAP // 2)
        column.addWidget(label(text.tr("The model"), bold=True))
        for line in (self._collaboration, self._passed_over, self._model):
            column.addWidget(line)
        column.addSpacing(GAP)
        column.addWidget(self.trying)
        self.column.addWidget(frame)
        self.column.addStretch(1)
