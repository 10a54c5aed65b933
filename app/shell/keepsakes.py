"""Says once what somebody has reached, and once a week what that week came to; aloud only where they want it."""

from collections.abc import Callable

from PySide6.QtCore import QObject

from app.engine.reports import Reports
from app.engine.store import Store
from app.looks.choices import Choices, NoticeKind
from app.models.milestones import SAID, last_week, reached
from app.words import gift_text, text
from core.api.reports import GiftHistory


class Keepsakes(QObject):
    """Looks whenever the window shows something new.

    Args:
        store: Has what the model counts of this computer.
        reports: Have the days on which it gave.
        choices: Remember what was said, and whether the desktop is to tell it.
        say: Shows a sentence in the window, for a while.
        tell: Has the desktop show a title and a sentence.
    """

    def __init__(
        self,
        store: Store,
        reports: Reports,
        choices: Choices,
        *,
        say: Callable[[str], None],
        tell: Callable[[str, str], None],
    ) -> None:
        super().__init__(store)
        self._store = store
        self._reports = reports
        self._choices = choices
        self._say = say
        self._tell = tell
        store.changed.connect(self._look)
        reports.came.connect(self._look)

    def _look(self, _method: str = "") -> None:
        snapshot = self._store.snapshot
        if snapshot is None:
            return
        known = self._choices.milestones
        news = [name for name in reached(snapshot.me, self._reports.last(GiftHistory)) if name not in known]
        if news:
            self._choices.milestones = (*known, *news)
            self._bring(NoticeKind.MILESTONE, text.tr("Thank you"), text.tr(SAID[news[-1]]))
        self._look_back()

    def _look_back(self) -> None:
        """Tell of the last week that is over, once; nothing is told of one in which nothing was given."""
        history = self._reports.last(GiftHistory)
        if history is None or not history.today:
            return
        monday, days = last_week(history)
        if self._choices.week_told < monday.isoformat():
            self._choices.week_told = monday.isoformat()
            if days:
                self._bring(NoticeKind.WEEK, text.tr("Your week"), gift_text.week(monday, days))

    def _bring(self, kind: NoticeKind, title: str, words: str) -> None:
        self._say(words)
        if self._choices.notifies(kind):
            self._tell(title, words)
