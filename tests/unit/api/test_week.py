"""Hours in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.api.week import ALWAYS, DAY_MINUTES, EXAMPLE, WEEK_MINUTES, BadWeek, Week, read_week, week_text

SPANS = st.lists(st.tuples(st.integers(0, WEEK_MINUTES - 1), st.integers(1, 2 * DAY_MINUTES)), max_size=8)


def week_of(spans, *, step=1):
    minutes = bytearray(WEEK_MINUTES)
    for start, length in spans:
        for minute in range(start // step * step, start // step * step + length):
            minutes[minute % WEEK_MINUTES] = 1
    return Week(bytes(minutes))


def opened(text, day, time):
    hour, minute = map(int, time.split(":"))
    return read_week(text).open(day * DAY_MINUTES + hour * 60 + minute)


@pytest.mark.parametrize(
    ("day", "time", "is_open"),
    [
        (0, "19:59", False),
        (0, "20:00", True),
        (1, "06:59", True),
        (1, "07:00", False),
        (0, "06:59", False),  # Sunday is open to its end; the night before Monday begins on no day that is named
        (4, "23:59", True),
        (5, "12:00", True),
        (6, "23:59", True),
    ],
)
def test_the_example(day, time, is_open):
    assert opened(EXAMPLE, day, time) is is_open


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("always", "00:00-24:00"),
        ("mon-sun", "always"),
        ("daily", "always"),
        ("20-7", "20:00-07:00"),
        ("  Monday  8:00 - 10:30 ", "mon 08:00-10:30"),
        ("weekdays 9 to 17", "mon-fri 9:00-17:00"),
        ("weekend", "sat sun"),
        ("fri-mon", "fri, sat, sun, mon"),
        ("sun 22:00-02:00", "sun 22:00-24:00; mon 00:00-02:00"),
        ("mon 8-10 tue 9-11", "mon 8-10, tue 9-11"),
        ("mon. tues. thurs. 8:00\u201310:00 12:00-13:00", "mon 8-10 12-13, tue thu 8-10, tue thu 12-13"),
        ("mon,,tue,", "mon tue"),
    ],
)
def test_other_words_for_the_same(text, same):
    assert read_week(text) == read_week(same)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "never work"),
        ("never", "switch"),
        (",", "No day"),
        ("mo", "'mo' is neither a day"),
        ("funday 8-10", "'funday' is neither"),
        ("mon 20:00", "'20:00' does not say from when to when"),
        ("mon 25:00-26:00", "no such times"),
        ("mon 8:60-9:00", "no such times"),
        ("mon 24:00-02:00", "no such times"),
        ("8:00-8:00", "is zero minutes"),
        ("20:00-07:00 mon", "days first"),
        ("mon-fri-sun", "neither"),
        ("x" * 5000, "too long"),
        ("a" * 100, "..."),
        ("mon \x1b[31m", "x1b"),
    ],
)
def test_unreadable_hours_give_a_sentence(text, part):
    with pytest.raises(BadWeek) as caught:
        read_week(text)
    assert part in str(caught.value)
    assert caught.value.message.endswith((".", "..."))
    assert caught.value.hint
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("always", "always"),
        (EXAMPLE, "mon-thu 20:00-07:00, fri 20:00-24:00, sat sun"),
        ("20:00-07:00", "20:00-07:00"),
        ("mon wed fri 8:00-9:00", "mon wed fri 08:00-09:00"),
        ("sun 22:00-02:30", "sun 22:00-02:30"),
        ("mon 8-9 10-11, tue 8-9, tue 10-11", "mon tue 08:00-09:00 10:00-11:00"),
    ],
)
def test_the_shortest_words(text, written):
    assert week_text(read_week(text)) == written


@given(SPANS, st.sampled_from([1, 15, 60]))
def test_words_and_back(spans, step):
    week = week_of(spans, step=step)
    if week.never:
        assert week_text(week) == "never"
    else:
        assert read_week(week_text(week)) == week


@given(SPANS)
def test_spans_and_changes_are_what_the_minutes_say(spans):
    week = week_of(spans)
    minutes = bytearray(WEEK_MINUTES)
    for start, end in week.spans():
        for minute in range(start, end):
            minutes[minute % WEEK_MINUTES] += 1
    assert bytes(minutes) == week.minutes
    for minute in (0, 1, 777, WEEK_MINUTES - 1):
        ahead = (n for n in range(1, WEEK_MINUTES) if week.open(minute + n) != week.open(minute))
        assert week.until_change(minute) == next(ahead, None)


@given(st.text(max_size=60) | st.text("mon-fri 0123456789:,to", max_size=40))
def test_any_text_is_a_week_or_a_sentence(text):
    try:
        week = read_week(text)
    except BadWeek as bad:
        assert bad.message  # noqa: PT017 - what is checked is what was raised
    else:
        assert not week.never


def test_a_week_is_a_week():
    assert ALWAYS.always
    for minutes in (b"\x01", b"\x02" * WEEK_MINUTES):
        with pytest.raises(ValueError, match="minutes"):
            Week(minutes)
