"""Numbered notices, in sentences; the last few hundred are kept."""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Literal

from core.api.happenings import happening
from core.api.sentence import Said, Sentence, parted
from core.api.snapshot import Notice
from core.api.verdict import Verdict, VerdictCode, sentence

TEXT_MAX = 1000

Level = Literal["info", "warning", "problem"]


class NoticeRing:
    """The newest `SIZE` notices; numbers start at 1 and go up by one.

    Args:
        now: The clock, unix seconds.
    """

    SIZE = 500

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._notices: deque[Notice] = deque(maxlen=self.SIZE)
        self._listeners: list[Callable[[Notice], None]] = []
        self.last = 0
        """Number of the newest notice; 0 before the first."""

    def add(self, level: Level, sentence: Sentence, code: str = "") -> Notice:
        """Keep a notice with the next number, and pass it to the listeners.

        Args:
            level: How serious it is.
            sentence: For the person.
            code: Its kind (core.api.snapshot.Notice).
        """
        return self._add(level, str(sentence), code, {}, (sentence,))

    def follow(self, level: Level, verdict: Verdict) -> Notice:
        """Keep a notice about what Potluck does from now on."""
        works = verdict.code is VerdictCode.CONTRIBUTING
        text = "Contributing." if works else str(sentence(verdict))
        return self._add(level, text, f"verdict.{verdict.code}.{verdict.reason}", verdict.args, verdict.said)

    def tell(self, level: Level, code: str, **args: str | int | Sentence) -> Notice:
        """Keep a notice about one of `core.api.happenings`.

        Args:
            level: How serious it is.
            code: Code of the happening.
            args: What its sentence is made of.
        """
        plain, said = parted(args)
        return self._add(level, str(happening(code, plain)), code, plain, said)

    def _add(self, level: Level, text: str, code: str, args: Mapping[str, str | int], said: Said) -> Notice:
        self.last += 1
        readable = text[:TEXT_MAX].encode(errors="replace").decode()  # names of files may hold what no text does
        made = tuple(one for one in said if one.arguments and readable == text)
        notice = Notice(self.last, self._now(), level, readable, code, dict(args), made)
        self._notices.append(notice)
        for listener in self._listeners:
            listener(notice)
        return notice

    def since(self, number: int) -> list[Notice]:
        """Those kept with a greater number, oldest first."""
        return [notice for notice in self._notices if notice.number > number]

    def listen(self, listener: Callable[[Notice], None]) -> None:
        """Have `listener` called with every new notice.  It must not raise."""
        self._listeners.append(listener)
