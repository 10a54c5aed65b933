"""People: who gave how much, my place among them, and how others reach this computer."""

from collections.abc import Hashable

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QPushButton

from app.engine.reports import Reports
from app.engine.store import Store
from app.looks.theme import Theme
from app.models.tables import leaderboard_table
from app.pages.asking import AskingPage
from app.pages.page import GAP
from app.views.table import Panel
from app.widgets.explained import Explained
from app.widgets.labels import card, label, sentence
from app.words import gift_text, page_text, text
from core.api.reports import DAYS_MAX, GiftHistory, TeamView
from core.api.snapshot import Snapshot


class PeoplePage(AskingPage):
    """The leaderboard, opened at my own row."""

    def __init__(self, store: Store, reports: Reports, theme: Theme) -> None:
        super().__init__(store, reports, text.tr("People"), {"history": {"days": DAYS_MAX}, "team": None})
        tr = text.tr
        self._place = sentence(factor=1.1)
        self._team = sentence()
        self._streak = sentence()
        self.sample = Explained(tr("What is a sample?"))
        self.web = QPushButton(tr("Teams on the &web…"))
        self.web.clicked.connect(lambda: QDesktopServices.openUrl(QUrl(self.web.toolTip())))
        self._here = label(tone="muted")
        self._reach = sentence(tone="muted")
        self._bars = sentence(tone="muted")
        self._model = leaderboard_table(self)
        self.leaderboard = Panel(
            tr("Leaderboard"), tr("It fills with the first step of the model."), model=self._model, theme=theme
        )
        frame, column = card(margin=2 * GAP, spacing=GAP // 2)
        for line in (self._place, self._team, self._streak, self.sample, self._here, self._reach):
            column.addWidget(line)
        column.addWidget(self.web, alignment=Qt.AlignmentFlag.AlignLeft)
        self.column.addWidget(frame)
        self.column.addWidget(self.leaderboard, stretch=1)
        self.column.addWidget(self._bars)

    @property
    def reach(self) -> str:
        """How others reach this computer, as shown; empty: nothing is known of it."""
        return self._reach.text()

    @property
    def lead(self) -> str:
        """My place."""
        return self._place.text()

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show the leaderboard of a snapshot."""
        super().show_snapshot(snapshot)
        self._model.follow(snapshot.leaderboard)
        self.leaderboard.count_rows()
        self._place.setText(page_text.place(snapshot.leaderboard))
        self.sample.explain(page_text.sample(snapshot))
        self._here.setText(text.here(snapshot))
        self._bars.setText(page_text.week_bars(snapshot))
        page = snapshot.collaboration.page if snapshot.collaboration is not None else ""
        self.web.setToolTip(page)
        self.web.setVisible(bool(page))
        words = text.reach(snapshot)
        self._reach.setText(words)
        self._reach.setVisible(bool(words))

    def about(self, snapshot: Snapshot) -> Hashable:
        """The answers are about the days in a row, with today or without it, and the page of a collaboration."""
        page = snapshot.collaboration.page if snapshot.collaboration is not None else ""
        return snapshot.today.day, snapshot.today.seconds > 0, page

    def show_reports(self) -> None:
        """Show the days in a row, and the team."""
        history = self.reports.last(GiftHistory)
        streak = gift_text.streak(history.streak) if history is not None else ""
        told = self.reports.last(TeamView)
        team = page_text.team(told) if told is not None else ""
        for line, words in ((self._streak, streak), (self._team, team)):
            line.setText(words)
            line.setVisible(bool(words))

    def opened(self) -> None:
        """Bring my own row into the middle of the table."""
        super().opened()
        mine = next((place for place, row in enumerate(self._model.rows) if row.is_me), None)
        if mine is not None:
            table = self.leaderboard.table
            table.scrollTo(self._model.index(mine, 0), table.ScrollHint.PositionAtCenter)
