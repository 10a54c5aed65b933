"""A week of hours on real clocks, against looking at every minute."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.api.week import ALWAYS, DAY_MINUTES, EXAMPLE, WEEK_MINUTES, Week, read_week
from core.schedule.hours import AHEAD_S, Hours

MINUTE_S = 60
SPANS = st.lists(st.tuples(st.integers(0, WEEK_MINUTES - 1), st.integers(1, DAY_MINUTES)), min_size=1, max_size=6)
SPRING = datetime(2026, 3, 29, 1, tzinfo=UTC).timestamp()
"""At this moment Berlin goes from 02:00 to 03:00."""
AUTUMN = datetime(2026, 10, 25, 1, tzinfo=UTC).timestamp()
"""And here from 03:00 back to 02:00."""


def berlin(moment):
    return 7200.0 if SPRING <= moment < AUTUMN else 3600.0


def at(offset_s, *moment):
    """Unix seconds of a time in UTC that is so far ahead of that."""
    return datetime(*moment, tzinfo=UTC).timestamp() - offset_s


def brute(hours, now):
    """The first change after `now`, found by looking at every minute."""
    before = hours.open(now)
    moment = (now // MINUTE_S + 1) * MINUTE_S
    while moment < now + AHEAD_S:
        if hours.open(moment) != before:
            return moment
        moment += MINUTE_S
    return None


def week_of(spans):
    minutes = bytearray(WEEK_MINUTES)
    for start, length in spans:
        for minute in range(start, start + length):
            minutes[minute % WEEK_MINUTES] = 1
    return Week(bytes(minutes))


@settings(max_examples=60, deadline=None)
@given(SPANS, st.integers(-8 * 86_400, 2 * 86_400), st.sampled_from([SPRING, AUTUMN]))
def test_the_next_change_is_the_one_that_every_minute_shows(spans, before_s, change):
    hours = Hours(week_of(spans), berlin)
    now = change + before_s
    assert hours.next_change(now) == brute(hours, now)


@settings(max_examples=60, deadline=None)
@given(
    SPANS,
    st.integers(0, 7 * 86_400),
    st.integers(-12 * 60, 14 * 60),
    st.sampled_from([-60, -30, 30, 60, 120]),
)
def test_hours_hold_across_clock_changes_of_any_size(spans, change_s, base, jump):
    start = 1_790_000_000.0 // 60 * 60
    hours = Hours(week_of(spans), lambda moment: 60.0 * (base + (jump if moment >= start + change_s // 60 * 60 else 0)))
    assert hours.next_change(start) == brute(hours, start)


@pytest.mark.parametrize("zone", ["Australia/Lord_Howe", "America/St_Johns", "Asia/Kathmandu", "Africa/Casablanca"])
def test_real_places(zone):
    try:
        place = ZoneInfo(zone)
    except ZoneInfoNotFoundError:
        pytest.skip("this system knows no time zones")
    hours = Hours(read_week(EXAMPLE), lambda moment: datetime.fromtimestamp(moment, place).utcoffset().total_seconds())
    for day in range(0, 365, 3):
        now = SPRING - 86_400 * 60 + day * 86_400 + 12_345
        local = datetime.fromtimestamp(now, place)
        assert hours.open(now) == hours.week.open(local.weekday() * DAY_MINUTES + local.hour * 60 + local.minute)
        assert hours.next_change(now) == brute(hours, now)


def test_an_hour_that_does_not_come_is_not_waited_for():
    hours = Hours(read_week("sun 02:00-03:00, tue"), berlin)
    saturday = at(3600, 2026, 3, 28, 12)
    assert hours.next_change(saturday) == at(7200, 2026, 3, 31)  # from 02:00 the clock goes to 03:00


def test_an_hour_that_comes_twice_counts_twice():
    hours = Hours(read_week("sun 02:00-03:00"), berlin)
    saturday = at(7200, 2026, 10, 24, 12)
    opens = hours.next_change(saturday)
    assert opens == at(7200, 2026, 10, 25, 2)
    assert hours.next_change(opens) == opens + 2 * 3600


def test_always_open_hours_never_change():
    hours = Hours(ALWAYS, berlin)
    assert hours.open(SPRING)
    assert hours.next_change(SPRING) is None


def test_moments_between_minutes_and_long_ago():
    hours = Hours(read_week("mon 08:00-09:00"), lambda _: 0.0)
    monday = at(0, 2026, 11, 23, 8)
    assert not hours.open(monday - 0.001)
    assert hours.open(monday)
    assert hours.next_change(monday - 0.25) == monday
    assert hours.next_change(monday + 0.25) == monday + 3600
    assert hours.next_change(-1e9) is not None


def test_wall_time_of_a_moment():
    hours = Hours(read_week(EXAMPLE), lambda _: 0.0)
    monday = at(0, 2026, 11, 23, 12)
    assert hours.wall_time(at(0, 2026, 11, 23, 20), monday) == {"clock": "20:00"}
    assert hours.wall_time(at(0, 2026, 11, 24, 7), monday) == {"clock": "07:00", "day": "Tuesday"}
    assert hours.wall_time(at(0, 2026, 11, 30, 7), monday) == {"clock": "07:00", "day": "Monday"}
