"""What the desktop tells a person who does not look at the window."""

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QObject, QTimer

from app.engine.store import Store
from app.looks.choices import Choices, NoticeKind
from app.words import text
from core.api.moderation import CLOSED, MOVED
from core.api.verdict import Verdict, VerdictCode

LASTS_MS: Final = 60_000
"""Time after which a problem that lasts is told: most mend themselves."""
THE_END: Final = frozenset({"finished", "ended", CLOSED, MOVED})
"""Reasons for a rest after which nothing comes any more."""
NO_SPACE: Final = "no_space"
"""Code of the problem that the disk is full (`core.base.problems.NoSpace`)."""
REFUSED: Final = "refused"
"""Reason of a verdict: there is no place for this computer, as somebody says who lets people in."""
NEVER_TOLD: Final = frozenset({"connecting", "beginning", "stopped", "again"})


class Notifier(QObject):
    """Tells about what lasts and needs somebody, once each time that it begins, and where a closed window went.

    Args:
        store: Has the verdict.
        choices: Whether the person wants to be told.
        tell: Shows a title and a sentence.
        seen: Whether the window is in front of the person, who then needs no telling.
    """

    def __init__(
        self, store: Store, choices: Choices, *, tell: Callable[[str, str], None], seen: Callable[[], bool]
    ) -> None:
        super().__init__(store)
        self._store = store
        self._choices = choices
        self._tell = tell
        self._seen = seen
        self._about: tuple[VerdictCode, str] | None = None
        self._lasts = QTimer(self, singleShot=True, interval=LASTS_MS)
        self._lasts.timeout.connect(self._lasted)
        store.changed.connect(self._follow)

    def hidden(self) -> None:
        """The window was closed for the first time: say where it is now."""
        if not self._choices.hint_shown:
            self._choices.hint_shown = True
            place = text.where_it_hides(tray=True)
            self._tell(text.tr("Potluck goes on"), f"{place} {text.tr('Quit in its menu ends everything.')}")

    def _follow(self) -> None:
        verdict = self._store.verdict
        about = (verdict.code, verdict.reason) if kind_of(verdict) is not None else None
        if about != self._about:
            self._about = about
            self._lasts.stop()
            if about is not None:
                self._lasts.start()

    def _lasted(self) -> None:
        verdict = self._store.verdict
        kind = kind_of(verdict)
        if kind is not None and self._choices.notifies(kind) and not self._seen():
            self._tell(text.headline(verdict), text.sentence(verdict))


def kind_of(verdict: Verdict) -> NoticeKind | None:
    """As what the person would want to know it, if it lasts; None: not at all."""
    if verdict.reason in NEVER_TOLD:
        return None
    if verdict.code is VerdictCode.PROBLEM:
        return NoticeKind.DISK if verdict.reason == NO_SPACE else NoticeKind.STOPPED
    if verdict.code in {VerdictCode.NOT_CONNECTED, VerdictCode.NO_ANSWER}:
        return NoticeKind.STOPPED if verdict.reason == REFUSED else NoticeKind.AWAY
    return NoticeKind.ENDED if verdict.code is VerdictCode.RESTING and verdict.reason in THE_END else None
