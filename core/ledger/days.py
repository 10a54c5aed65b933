"""What this computer gave, by day: kept in one small file, the last days only."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.api.reports import DAYS_MAX, DayGift, GiftHistory
from core.api.sentence import Sentence
from core.system.atomic_files import read_bounded, set_aside, write_atomic

FILE: Final = "days.json"
"""Its name in a home."""
FILE_BYTES_MAX: Final = 256 * 1024
COUNT_MAX: Final = 2**53


class _KeptDays(msgspec.Struct, frozen=True, kw_only=True):
    days: Annotated[list[DayGift], Meta(max_length=DAYS_MAX)] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class GiftTotals:
    """What counts on, since some moment."""

    seconds: float = 0.0
    samples: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    answered: int = 0
    joules: float = 0.0

    def __sub__(self, other: "GiftTotals") -> "GiftTotals":
        """What was added since `other`; what went back, as after a file was set aside, counts nothing."""
        return GiftTotals(
            seconds=max(0.0, self.seconds - other.seconds),
            samples=max(0, self.samples - other.samples),
            bytes_sent=max(0, self.bytes_sent - other.bytes_sent),
            bytes_received=max(0, self.bytes_received - other.bytes_received),
            answered=max(0, self.answered - other.answered),
            joules=max(0.0, self.joules - other.joules),
        )


class Days:
    """Adds up what this computer gave on each day, and keeps the last days in a file.

    Args:
        home: Folder of the file.
        now: Unix seconds of this computer's clock, whose calendar counts.
    """

    def __init__(self, home: Path, now: Callable[[], float]) -> None:
        self._path = home / FILE
        self._now = now
        self.notice: Sentence | None = None
        """A sentence for the person, when the file was damaged."""
        self._dirty = False
        self._days = {day.day: day for day in self._load()}

    def add(self, given: GiftTotals) -> None:
        """Count something for today; `save` keeps it."""
        if given == GiftTotals():
            return
        before = self.today()
        self._days[before.day] = DayGift(
            day=before.day,
            seconds=before.seconds + given.seconds,
            samples=min(COUNT_MAX, before.samples + given.samples),
            bytes_sent=min(COUNT_MAX, before.bytes_sent + given.bytes_sent),
            bytes_received=min(COUNT_MAX, before.bytes_received + given.bytes_received),
            answered=min(COUNT_MAX, before.answered + given.answered),
            joules=before.joules + given.joules,
        )
        for old in sorted(self._days)[:-DAYS_MAX]:
            del self._days[old]
        self._dirty = True

    def save(self) -> None:
        """Write the file, if something was counted.

        Raises:
            NoSpace: the disk is full; the next save tries again.
            UserProblem: the system does not allow it.
        """
        if self._dirty:
            write_atomic(
                self._path, msgspec.json.encode(_KeptDays(days=[self._days[day] for day in sorted(self._days)]))
            )
            self._dirty = False

    def today(self) -> DayGift:
        """What was given today so far, by this computer's calendar."""
        today = self._today().isoformat()
        return self._days.get(today) or DayGift(day=today)

    def history(self, days: int) -> GiftHistory:
        """The last days, today among them."""
        today = self._today()
        first = (today - timedelta(days=days - 1)).isoformat()
        shown = tuple(self._days[day] for day in sorted(self._days) if first <= day <= today.isoformat())
        return GiftHistory(today=today.isoformat(), days=shown, streak=self._streak(today))

    def _streak(self, today: date) -> int:
        """Days in a row; today need not be among them yet."""
        gave = {day for day, gift in self._days.items() if gift.seconds > 0}
        day = today if today.isoformat() in gave else today - timedelta(days=1)
        length = 0
        while day.isoformat() in gave:
            length += 1
            day -= timedelta(days=1)
        return length

    def _today(self) -> date:
        return datetime.fromtimestamp(self._now()).astimezone().date()

    def _load(self) -> list[DayGift]:
        try:
            data = read_bounded(self._path, FILE_BYTES_MAX)
            kept = [] if data is None else msgspec.json.decode(data, type=_KeptDays).days
            for day in kept:
                date.fromisoformat(day.day)
        except ValueError:
            aside = set_aside(self._path)
            self.notice = Sentence(
                "What was given day by day could not be read; the damaged file is {name}.", aside.name
            )
            return []
        return kept
