"""My gift: what this computer gave, day by day and round by round, and what became of it."""

from collections.abc import Hashable

from PySide6.QtWidgets import QLabel

from app.engine.reports import Reports
from app.engine.store import Store
from app.looks.theme import Theme
from app.models.gift import days_table, receipts_table
from app.models.milestones import TITLES, last_week, reached
from app.pages.asking import AskingPage
from app.pages.page import GAP
from app.views.table import Panel
from app.widgets.chips import Chip, Chips
from app.widgets.explained import Explained
from app.widgets.labels import card, sentence
from app.widgets.side_by_side import SideBySide
from app.words import gift_text, page_text, text
from core.api.reports import DAYS_MAX, GiftHistory, ReceiptList
from core.api.snapshot import LossView, Snapshot


class GiftPage(AskingPage):
    """The page for somebody who wants to know whether it counted."""

    needs_collaboration = False

    def __init__(self, store: Store, reports: Reports, theme: Theme) -> None:
        tr = text.tr
        super().__init__(store, reports, tr("My gift"), {"history": {"days": DAYS_MAX}, "receipts": {"since": 0}})
        self._all = sentence(factor=1.1)
        self.sample = Explained(tr("What is a sample?"))
        self._progress = sentence()
        self._streak = sentence()
        self.badges = Chips(theme)
        self._week = sentence()
        self._pending = sentence()
        self._credit = sentence(tone="muted")
        self._device = sentence(tone="muted")
        self._energy = sentence(tone="muted")
        self._days = days_table(self)
        self._receipts = receipts_table(self)
        self.days = Panel(tr("By day"), tr("Nothing was given yet."), model=self._days, theme=theme)
        self.receipts = Panel(tr("By round"), tr("Each round leaves a receipt."), model=self._receipts, theme=theme)
        frame, column = card(margin=2 * GAP, spacing=GAP // 2)
        for line in (self._all, self.sample, self._progress, self._streak, self.badges, self._week, self._pending):
            column.addWidget(line)
        for line in (self._credit, self._device, self._energy):
            column.addWidget(line)
        self.column.addWidget(frame)
        self.column.addWidget(SideBySide(self.days, self.receipts, spacing=GAP, stretch=(11, 10)), stretch=1)

    @property
    def lead(self) -> str:
        """My sums."""
        return f"{self._all.text()} {self._progress.text()}"

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show my sums of a snapshot."""
        super().show_snapshot(snapshot)
        self._all.setText(gift_text.all_given(snapshot.me))
        self.sample.explain(page_text.sample(snapshot))
        meaning = snapshot.collaboration.loss if snapshot.collaboration is not None else LossView()
        _say(self._progress, gift_text.since_came(snapshot.me, meaning))
        _say(self._pending, gift_text.pending(snapshot.me))
        self._show_badges()
        _say(self._device, gift_text.device(snapshot.me))

    def about(self, snapshot: Snapshot) -> Hashable:
        """The answers follow from rounds, which end with an epoch and are told in the log."""
        return snapshot.today.day, snapshot.today.samples, snapshot.epoch, snapshot.notice_last

    def show_reports(self) -> None:
        """Show the days and the rounds."""
        history, receipts = self.reports.last(GiftHistory), self.reports.last(ReceiptList)
        if history is not None:
            self._days.follow(tuple(reversed(history.days)))
            self.days.count_rows()
            _say(self._streak, gift_text.streak(history.streak))
            _say(self._energy, gift_text.energy(history))
            monday, days = last_week(history)
            _say(self._week, gift_text.week(monday, days) if days else "")
            self._show_badges()
        if receipts is not None:
            self._receipts.follow(receipts.receipts)
            self.receipts.count_rows()
            if self.store.last is not None:
                _say(self._credit, gift_text.credit(receipts, self.store.last.me))

    def _show_badges(self) -> None:
        """What was reached, each in a few letters."""
        names = reached(self.store.last.me, self.reports.last(GiftHistory)) if self.store.last is not None else ()
        titles = [text.tr(TITLES[name]) for name in names]
        self.badges.show_parts([part for title in titles for part in (Chip(title, title), "  ")])
        self.badges.setVisible(bool(titles))


def _say(line: QLabel, words: str) -> None:
    line.setText(words)
    line.setVisible(bool(words))
