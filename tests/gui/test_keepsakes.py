"""Milestones and the week: said once, shown small, and told by the desktop only where somebody wants it."""

from datetime import date, timedelta

import msgspec
import pytest

from app.engine.intents import Intents
from app.engine.reports import Reports
from app.engine.store import Store
from app.looks.choices import Choices, NoticeKind
from app.models.milestones import SAID, TITLES, last_week, reached
from app.shell.keepsakes import Keepsakes
from app.words import gift_text
from core.api.reports import DayGift, GiftHistory

MONDAY = date(2026, 11, 23)


def gave(*days, today=MONDAY):
    gifts = tuple(DayGift(day=day.isoformat(), seconds=3600.0, samples=100) for day in sorted(days))
    return GiftHistory(today=today.isoformat(), days=gifts)


def with_steps(examples, epochs):
    whole = examples.snapshot()
    return msgspec.structs.replace(whole, me=msgspec.structs.replace(whole.me, epochs=epochs))


@pytest.fixture
def told(qt, tmp_path):
    """Store, reports, choices, what the window said, and what the desktop told."""
    store, choices, said, aloud = Store(), Choices(tmp_path / "window.ini"), [], []
    reports = Reports(Intents(lambda *_: None, store))
    store.keeps = Keepsakes(store, reports, choices, say=said.append, tell=lambda *words: aloud.append(words))
    return store, reports, choices, said, aloud


@pytest.mark.parametrize(
    ("epochs", "names"),
    [(0, ""), (1, "first"), (9, "first"), (10, "first steps-10"), (1000, "first steps-10 steps-100 steps-1000")],
)
def test_steps_with_my_work_are_reached(examples, epochs, names):
    assert reached(with_steps(examples, epochs).me, None) == tuple(names.split())


@pytest.mark.parametrize(("days_ago", "is_reached"), [(29, False), (30, True)])
def test_month_is_reached_on_its_day(examples, days_ago, is_reached):
    history = gave(MONDAY - timedelta(days=days_ago))
    assert ("month" in reached(with_steps(examples, 1).me, history)) is is_reached


def test_each_milestone_is_said_once(told, examples):
    store, _, choices, said, aloud = told
    for epochs in (0, 1, 1, 9, 10, 11, 10):
        store.put(with_steps(examples, epochs))
    assert said == [SAID["first"], SAID["steps-10"]]
    assert choices.milestones == ("first", "steps-10")
    assert aloud == [], "nobody has asked for that"


def test_somebody_who_comes_late_hears_of_the_last_one(told, examples):
    store, _, choices, said, _ = told
    store.put(with_steps(examples, 150))
    assert said == [SAID["steps-100"]]
    assert choices.milestones == ("first", "steps-10", "steps-100")


def test_desktop_tells_where_it_is_wanted(told, examples):
    store, reports, choices, _, aloud = told
    choices.choose_notice(NoticeKind.MILESTONE, wanted=True)
    choices.choose_notice(NoticeKind.WEEK, wanted=True)
    store.put(with_steps(examples, 1))
    reports.put("history", gave(MONDAY - timedelta(days=2)))
    assert [title for title, _ in aloud] == ["Thank you", "Your week"]


def test_week_that_is_over_is_told_once(told, examples):
    store, reports, _, said, _ = told
    store.put(with_steps(examples, 0))
    days = [MONDAY - timedelta(days=ago) for ago in (0, 1, 7, 8)]
    for today in (MONDAY, MONDAY + timedelta(days=1)):
        reports.put("history", gave(*days, today=today))
    (words,) = said
    assert words == (
        "In the week from Mon 16 Nov this computer gave 2 h 00 min on 2 days, and 200 samples went into steps of the "
        "model."
    )
    reports.put("history", gave(*days, today=MONDAY + timedelta(days=7)))
    assert len(said) == 2


def test_week_with_one_day_says_so():
    monday, days = last_week(gave(MONDAY - timedelta(days=6)))
    assert "gave 1 h 00 min on one day, and" in gift_text.week(monday, days)


def test_week_without_a_gift_is_not_told(told, examples):
    store, reports, choices, said, _ = told
    store.put(with_steps(examples, 0))
    reports.put("history", gave(MONDAY))
    assert said == []
    assert choices.week_told == (MONDAY - timedelta(days=7)).isoformat()
    assert last_week(gave(MONDAY))[1] == ()


def test_page_shows_what_was_reached(parts, examples):
    parts.store.put(with_steps(examples, 150))
    parts.window.reports.put("history", gave(*(MONDAY - timedelta(days=ago) for ago in (7, 40))))
    parts.window.show()
    parts.window.actions_.pages["gift"].trigger()
    page = parts.window.pages["gift"]
    assert page.badges.isVisible()
    assert page.badges.words == "[First contribution] [10 steps] [100 steps] [One month]"
    assert page.badges.accessibleName() == page.badges.words
    assert set(TITLES) == set(SAID)
