"""The last line of the window: the connection, the company, and what just happened."""

from typing import Final

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QFrame, QHBoxLayout

from app.widgets.field import announce
from app.widgets.icons import Picture
from app.widgets.labels import Elided, label
from app.words import page_text, text
from core.api.snapshot import Notice, Snapshot
from core.api.verdict import SHUT_OUT, Verdict, VerdictCode

NEWS_MS = 10_000
"""Time for which a piece of news is shown."""
NEWS_PRESSING_MS = 120_000
"""Time for which a warning, a problem, or the answer to the person's request is shown."""

ICONS: Final = {VerdictCode.NOT_CONNECTED: "disconnected", VerdictCode.PROBLEM: "problem"}
"""By verdict of an engine that answers; of all others the line is in order."""


class StatusLine(QFrame):
    """One line of small text: the verdict, and news."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("status")
        self.icon = Picture("disconnected", 1.0)
        self._words = label(tone="muted")
        self._news = Elided()
        self._headline = self._sentence = ""
        self.fade = QTimer(self, singleShot=True)
        self.fade.timeout.connect(self._forget)
        row = QHBoxLayout(self)
        row.setContentsMargins(6, 0, 6, 0)
        row.setSpacing(6)
        row.addWidget(self.icon)
        row.addWidget(self._words)
        row.addSpacing(12)
        row.addWidget(self._news, stretch=1)

    @property
    def news(self) -> str:
        """The latest news as it is shown; empty after a while."""
        return self._news.text()

    @property
    def words(self) -> str:
        """The words about verdict and company, as they are shown."""
        return self._words.text()

    def show_verdict(self, verdict: Verdict, snapshot: Snapshot | None) -> None:
        """Say what Potluck is doing, and how many are here."""
        before = self._headline
        self._headline, self._sentence = text.headline(verdict), text.sentence(verdict)
        if self.isVisible() and self._headline != before and verdict.code is not VerdictCode.CHANGING:
            announce(self, f"{text.full(self._headline)} {page_text.reason(verdict)}")
        if self._is_said(self._news.text()):
            self._forget()
        self.icon.show_icon("disconnected" if snapshot is None else ICONS.get(verdict.code, "connected"))
        parts = [self._headline]
        if snapshot is not None and verdict.reason != SHUT_OUT:
            parts.append(text.here(snapshot))
        self._words.setText("  ·  ".join(parts))
        self.setAccessibleName(text.tr("Status: {words}", ", ".join(parts)))

    def show_news(self, notice: Notice) -> None:
        """Say what just happened, for a while; not what the sentence on top of the window says already."""
        words = page_text.notice(notice)
        if self._is_said(words):
            self._forget()
        else:
            self._tell(words, NEWS_MS if notice.level == "info" else NEWS_PRESSING_MS, aloud=notice.level != "info")

    def tell(self, words: str, stay_ms: int = NEWS_PRESSING_MS) -> None:
        """Show the answer to a request of the person."""
        self._tell(words, stay_ms, aloud=True)

    def _tell(self, words: str, stay_ms: int, *, aloud: bool) -> None:
        self._news.setText(text.one_line(words))
        self._news.setToolTip(text.tooltip(words))
        self.fade.start(stay_ms)
        if aloud and self.isVisible():
            announce(self, self._news.text())

    def _forget(self) -> None:
        self._news.clear()
        self._news.setToolTip("")
        self.fade.stop()

    def _is_said(self, words: str) -> bool:
        return bool(words) and (words == text.full(self._headline) or self._sentence.startswith(words.rstrip(".।")))
