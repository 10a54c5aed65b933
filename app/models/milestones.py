"""What somebody has reached who gives: said once, and shown small from then on."""

from collections.abc import Mapping
from datetime import date, timedelta
from types import MappingProxyType
from typing import Final

from core.api.reports import DayGift, GiftHistory
from core.api.sentence import later
from core.api.snapshot import Mine

MONTH_DAYS: Final = 30
WEEK_DAYS: Final = 7
STEPS: Final[Mapping[str, int]] = MappingProxyType({"steps-10": 10, "steps-100": 100, "steps-1000": 1000})
TITLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "first": later("First contribution"),
        "steps-10": later("10 steps"),
        "steps-100": later("100 steps"),
        "steps-1000": later("1 000 steps"),
        "month": later("One month"),
    }
)
"""In the order in which they are shown."""
SAID: Final[Mapping[str, str]] = MappingProxyType(
    {
        "first": later("The model has taken its first step with your work in it."),
        "steps-10": later("10 of the model's steps have your work in them."),
        "steps-100": later("100 of the model's steps have your work in them."),
        "steps-1000": later("1 000 of the model's steps have your work in them."),
        "month": later("A month ago this computer gave its time for the first time."),
    }
)
"""What is said once, when each is reached."""


def reached(me: Mine, history: GiftHistory | None) -> tuple[str, ...]:
    """Which of them somebody has reached, in the order of `TITLES`."""
    found = {name for name, steps in STEPS.items() if me.epochs >= steps}
    if me.epochs:
        found.add("first")
    if history is not None and any(_long_ago(day, history) for day in history.days if day.seconds > 0):
        found.add("month")
    return tuple(name for name in TITLES if name in found)


def last_week(history: GiftHistory) -> tuple[date, tuple[DayGift, ...]]:
    """Monday of the last week that is over, and the days of it on which something was given."""
    today = date.fromisoformat(history.today)
    monday = today - timedelta(days=today.weekday() + WEEK_DAYS)
    ends = monday + timedelta(days=WEEK_DAYS)
    days = [day for day in history.days if day.seconds > 0 and monday.isoformat() <= day.day < ends.isoformat()]
    return monday, tuple(days)


def _long_ago(day: DayGift, history: GiftHistory) -> bool:
    return date.fromisoformat(day.day) <= date.fromisoformat(history.today) - timedelta(days=MONTH_DAYS)
