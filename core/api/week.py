"""The hours of a week in which Potluck may work, as the person chose them: in words, and minute by minute.

Wall-clock time: which moments these are, in a year with two kinds of time, is settled in core.schedule.hours.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from core.api.sentence import Sentence, Spoken

HOUR_MINUTES: Final = 60
DAY_MINUTES: Final = 24 * HOUR_MINUTES
WEEK_MINUTES: Final = 7 * DAY_MINUTES
DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
TEXT_MAX: Final = 4000
"""Letters of the longest description that is read."""
EXAMPLE: Final = "mon-fri 20:00-07:00, sat sun"

_GROUPS: Final = (("weekdays", 0, 5), ("weekend", 5, 7), ("weekends", 5, 7), ("daily", 0, 7))
_HINT: Final = Sentence("Write it like this: {example}", EXAMPLE)
_TIMES: Final = re.compile(r"(\d{1,2})(?::(\d{2}))?-(\d{1,2})(?::(\d{2}))?")


class BadWeek(Spoken, ValueError):  # noqa: N818 - as its base says
    """A description that cannot be read."""

    def __init__(self, message: str, /, *values: object, hint: str | Sentence = _HINT) -> None:
        super().__init__(message, *values, hint=hint)


@dataclass(frozen=True, slots=True)
class Week:
    """The open minutes of a week.

    Attributes:
        minutes: WEEK_MINUTES bytes from Monday 00:00 on, 1 where Potluck may work, else 0.
    """

    minutes: bytes

    def __post_init__(self) -> None:
        """Check the length: misuse in code raises ValueError."""
        if len(self.minutes) != WEEK_MINUTES or self.minutes.strip(b"\x00\x01"):
            raise ValueError("a week has 10 080 minutes, each 0 or 1")

    @property
    def always(self) -> bool:
        """Whether all of it is open."""
        return 0 not in self.minutes

    @property
    def never(self) -> bool:
        """Whether no minute of the week is open."""
        return 1 not in self.minutes

    def open(self, minute: int) -> bool:
        """Whether the minute (of any week) is open."""
        return bool(self.minutes[minute % WEEK_MINUTES])

    def until_change(self, minute: int) -> int | None:
        """Minutes from the beginning of `minute` to that of the first one that is not like it; None: there is none."""
        place = minute % WEEK_MINUTES
        other = b"\x00" if self.minutes[place] else b"\x01"
        found = self.minutes.find(other, place)
        if found < 0:
            found = self.minutes.find(other)
            return None if found < 0 else found + WEEK_MINUTES - place
        return found - place

    def spans(self) -> Iterator[tuple[int, int]]:
        """The open stretches, first minute and the one after the last, which may lie in the next week."""
        if self.always:
            yield 0, WEEK_MINUTES
            return
        place = 0 if not self.minutes[0] else self.minutes.find(b"\x00")
        end = place + WEEK_MINUTES
        while place < end:
            length = self.until_change(place)
            if length is None:
                return
            if self.open(place):
                yield place % WEEK_MINUTES, place % WEEK_MINUTES + length
            place += length


ALWAYS: Final = Week(b"\x01" * WEEK_MINUTES)


def read_week(text: str) -> Week:
    """The week that a person describes: parts with commas between, each of days, times or both.

    "mon-fri 20:00-07:00, sat sun" is from eight in the evening to seven in the morning that follows, and all of the
    weekend.  Without days the times hold every day, without times the days are open as a whole.

    Raises:
        BadWeek: it cannot be read, or no minute would be left.
    """
    if len(text) > TEXT_MAX:
        raise BadWeek("This description of hours is too long.")
    words = re.sub(r"\s*(?:-|\u2013|\bto\b)\s*", "-", tidied(text))
    if words == "always":
        return ALWAYS
    if words in {"", "never", "none"}:
        raise BadWeek(
            "With no hour left, Potluck would never work.",
            hint="Leave at least one hour, or pause Potluck with its switch.",
        )
    minutes = bytearray(WEEK_MINUTES)
    for part in re.split(r"[,;]", words):
        _mark(minutes, part.split())
    if not any(minutes):
        raise BadWeek("No day and no time is named.")
    return Week(bytes(minutes))


def tidied(text: str) -> str:
    """The description as it is kept: in small letters, one space between words."""
    return " ".join(text.lower().split())


def week_text(week: Week) -> str:
    """The shortest description, for `read_week`; "never" where nothing is open, which that refuses."""
    if week.always:
        return "always"
    if week.never:
        return "never"
    days_of: dict[tuple[tuple[int, int], ...], list[int]] = {}
    for day, begun in enumerate(_pieces(week)):
        if begun:
            days_of.setdefault(tuple(begun), []).append(day)
    parts = []
    for pieces, days in days_of.items():
        times = [] if pieces == ((0, DAY_MINUTES),) else [f"{_clock(a)}-{_clock(b)}" for a, b in pieces]
        parts.append(" ".join([*([] if len(days) == 7 else _runs(days)), *times]))
    return ", ".join(parts)


def clock(minute: int) -> str:
    """The time of a minute of any day: 07:05."""
    return "{:02}:{:02}".format(*divmod(minute % DAY_MINUTES, HOUR_MINUTES))


def _clock(minute: int) -> str:
    """The same for the end of a span, which may be the end of the day, or in the next one."""
    return "24:00" if minute == DAY_MINUTES else clock(minute)


def _mark(minutes: bytearray, words: Sequence[str]) -> None:
    """Open what one part says: days, then times, perhaps again."""
    days: list[int] = []
    times: list[tuple[int, int]] = []
    for word in words:
        found = _times(word)
        if found is not None:
            times.append(found)
            continue
        if times and not days:
            raise BadWeek(
                "{word} comes after the times.", _shown(word), EXAMPLE, hint="Say the days first, as in: {example}"
            )
        if times:
            _open(minutes, days, times)
            days, times = [], []
        days += _days(word)
    if words:
        _open(minutes, days or range(7), times or [(0, DAY_MINUTES)])


def _open(minutes: bytearray, days: Iterable[int], times: Iterable[tuple[int, int]]) -> None:
    for day in days:
        for start, end in times:
            for minute in range(day * DAY_MINUTES + start, day * DAY_MINUTES + end):
                minutes[minute % WEEK_MINUTES] = 1


def _times(word: str) -> tuple[int, int] | None:
    """Times of a word, in minutes of the day, the end perhaps in the next day; None: the word does not name times.

    Raises:
        BadWeek: it names impossible times.
    """
    if not word[0].isdigit():
        return None
    found = _TIMES.fullmatch(word)
    if found is None:
        raise BadWeek("{word} does not say from when to when.", _shown(word))
    hours = [int(found[1]), int(found[3])]
    minutes = [int(found[2] or 0), int(found[4] or 0)]
    start, end = (hour * HOUR_MINUTES + minute for hour, minute in zip(hours, minutes, strict=True))
    if max(minutes) >= HOUR_MINUTES or max(start, end) > DAY_MINUTES or start == DAY_MINUTES:
        raise BadWeek("There are no such times: {word}.", _shown(word), hint="A day goes from 00:00 to 24:00.")
    if start == end:
        message = "From {start} to {end} is zero minutes."
        raise BadWeek(message, clock(start), clock(end), hint="For a whole day write 00:00-24:00.")
    return (start, end) if start < end else (start, end + DAY_MINUTES)


def _days(word: str) -> list[int]:
    """The days that a word names, 0 for Monday.

    Raises:
        BadWeek: it names none.
    """
    for name, first, last in _GROUPS:
        if word == name:
            return list(range(first, last))
    first_name, dash, last_name = word.partition("-")
    first, last = _day(first_name, word), _day(last_name if dash else first_name, word)
    return [day % 7 for day in range(first, (last if last >= first else last + 7) + 1)]


def _day(name: str, word: str) -> int:
    name = name.rstrip(".")
    found = [place for place, day in enumerate(DAYS) if len(name) >= 3 and day.startswith(name)]
    if not found:
        raise BadWeek("{word} is neither a day nor times of a day.", _shown(word))
    return found[0]


def _shown(word: str) -> str:
    return repr(word) if len(word) <= 30 else f"{word[:30]!r}..."


def _pieces(week: Week) -> list[list[tuple[int, int]]]:
    """For each day what begins on it, in minutes of that day; what ends within 24 hours may end in the next one."""
    days: list[list[tuple[int, int]]] = [[] for _ in DAYS]
    for start, end in week.spans():
        at = start
        while at < end:
            day, minute = divmod(at, DAY_MINUTES)
            midnight = (day + 1) * DAY_MINUTES
            until = end if end <= midnight or (minute and end - at < DAY_MINUTES) else midnight
            days[day % 7].append((minute, minute + until - at))
            at = until
    return [sorted(pieces) for pieces in days]


def _runs(days: Sequence[int]) -> list[str]:
    """Days in words: three or more in a row as mon-fri."""
    runs: list[list[int]] = []
    for day in days:
        if runs and runs[-1][-1] == day - 1:
            runs[-1].append(day)
        else:
            runs.append([day])
    words = []
    for run in runs:
        names = [DAYS[day][:3] for day in run]
        words += [f"{names[0]}-{names[-1]}"] if len(run) > 2 else names
    return words
