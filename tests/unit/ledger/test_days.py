"""What is given by day, in one small file."""

import json
from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.api.reports import DAYS_MAX
from core.ledger.days import Days, GiftTotals

NOON = datetime(2026, 11, 24, 12).timestamp()  # noqa: DTZ001 - noon of this computer's calendar
DAY_S = 86_400


class Calendar:
    def __init__(self, now=NOON):
        self.now = now

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Calendar()


def test_days_add_up_and_survive_a_restart(tmp_path, clock):
    days = Days(tmp_path, clock)
    days.add(GiftTotals(seconds=60, samples=100, bytes_sent=5, bytes_received=6, answered=7))
    days.add(GiftTotals(seconds=30, samples=20, answered=2))
    clock.now += DAY_S
    days.add(GiftTotals(seconds=10))
    days.save()
    again = Days(tmp_path, clock).history(14)
    assert [(day.day, day.seconds, day.samples) for day in again.days] == [
        ("2026-11-24", 90, 120),
        ("2026-11-25", 10, 0),
    ]
    assert (again.days[0].bytes_sent, again.days[0].bytes_received, again.days[0].answered) == (5, 6, 9)
    assert (again.today, again.streak) == ("2026-11-25", 2)


def test_history_leaves_out_older_days(tmp_path, clock):
    days = Days(tmp_path, clock)
    for _ in range(20):
        days.add(GiftTotals(seconds=1))
        clock.now += DAY_S
    assert len(days.history(14).days) == 13  # today nothing was given yet
    assert len(days.history(100).days) == 20


def test_file_holds_a_bounded_number_of_days(tmp_path, clock):
    days = Days(tmp_path, clock)
    for _ in range(DAYS_MAX + 50):
        days.add(GiftTotals(samples=1))
        clock.now += DAY_S
    days.save()
    kept = json.loads((tmp_path / "days.json").read_text())["days"]
    assert len(kept) == DAYS_MAX
    assert kept[0]["day"] == (date(2026, 11, 24) + timedelta(days=50)).isoformat()


@given(st.lists(st.booleans(), max_size=30))
def test_streak_counts_days_in_a_row(tmp_path_factory, gave):
    clock = Calendar()
    days = Days(tmp_path_factory.mktemp("days"), clock)
    for one in gave:
        clock.now += DAY_S
        days.add(GiftTotals(seconds=5.0 if one else 0.0, bytes_sent=1))
    until = gave[:-1] if gave and not gave[-1] else gave  # today may still come
    wanted = next((place for place, one in enumerate(reversed(until)) if not one), len(until))
    assert days.history(30).streak == wanted


def test_damaged_file_is_set_aside(tmp_path, clock):
    path = tmp_path / "days.json"
    for damage in (b"{", b'{"days": [{"day": "never"}]}', b'{"days": [{}]}'):
        path.write_bytes(damage)
        days = Days(tmp_path, clock)
        assert "could not be read" in str(days.notice)
        assert days.history(14).days == ()
        assert not path.exists()


def test_sums_that_went_back_count_nothing():
    assert GiftTotals(seconds=1, samples=5) - GiftTotals(seconds=3, samples=2) == GiftTotals(samples=3)
