"""Days follow from differences of ledgers, and give back what is undone."""

from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from core.api.reports import DAYS_MAX
from core.ledger.site_days import DAYS, SiteDays

DAY_S = 86_400.0
MONDAY = datetime(2026, 11, 23, 12, tzinfo=UTC).timestamp()


def samples(days: SiteDays) -> dict[str, int]:
    return {day.day: day.samples for day in days.days}


def test_day_has_the_difference_between_copies(tmp_path: Path) -> None:
    days = SiteDays(tmp_path)
    days.counted(0, 0, MONDAY)
    days.counted(100, 3, MONDAY + 1)
    days.counted(250, 5, MONDAY + 2)
    days.counted(300, 6, MONDAY + DAY_S)
    assert samples(days) == {"2026-11-23": 250, "2026-11-24": 50}
    assert [day.epochs for day in days.days] == [5, 1]


def test_day_has_the_traffic_that_the_backbone_measured(tmp_path: Path) -> None:
    days = SiteDays(tmp_path)
    for moved, at in ((100, MONDAY), (150, MONDAY + 1), (400, MONDAY + DAY_S)):
        days.looked(0, at, moved)
    assert [day.traffic_bytes for day in days.days] == [150, 250]
    days.save()
    again = SiteDays(tmp_path)
    again.looked(0, MONDAY + DAY_S, 7)  # the backbone has begun anew
    assert [day.traffic_bytes for day in again.days] == [150, 257]


def test_samples_from_before_the_page_are_no_day(tmp_path: Path) -> None:
    days = SiteDays(tmp_path)
    days.counted(5000, 70, MONDAY)
    assert days.days == ()
    days.counted(5100, 71, MONDAY)
    assert samples(days) == {"2026-11-23": 100}


def test_undone_samples_leave_the_last_days(tmp_path: Path) -> None:
    days = SiteDays(tmp_path)
    days.counted(1000, 10, MONDAY)
    days.counted(1100, 11, MONDAY)
    days.counted(1150, 12, MONDAY + DAY_S)
    days.counted(1060, 11, MONDAY + 2 * DAY_S)
    assert samples(days) == {"2026-11-23": 60, "2026-11-24": 0}
    days.counted(900, 9, MONDAY + 2 * DAY_S)
    days.counted(910, 10, MONDAY + 2 * DAY_S)
    assert samples(days) == {"2026-11-23": 0, "2026-11-24": 0, "2026-11-25": 10}


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 900)), min_size=1, max_size=30))
def test_days_and_what_was_before_are_always_the_ledger(totals) -> None:
    days = SiteDays(Path("/nonexistent"))
    first, low = totals[0][0], totals[0][0]
    for total, day in totals:
        days.counted(total, 1, MONDAY + day * DAY_S)
        low = min(low, total)
    kept = sum(samples(days).values())
    assert kept == totals[-1][0] - min(first, low) or len(days.days) == DAYS_MAX
    assert len(days.days) <= DAYS_MAX


def test_computers_and_their_hours_are_noted(tmp_path: Path) -> None:
    days = SiteDays(tmp_path)
    for second in range(0, 3601, 10):
        days.looked(2 if second < 3600 else 5, MONDAY + second)
    (day,) = days.days
    assert (day.computers, round(day.computer_hours, 3)) == (5, 2.008)
    days.looked(5, MONDAY + 3600 + 7200)  # this computer slept for two hours
    assert days.days[0].computer_hours < 2.1


def test_days_outlive_the_backbone(tmp_path: Path) -> None:
    days = SiteDays(tmp_path)
    days.counted(0, 0, MONDAY)
    days.counted(100, 3, MONDAY)
    days.looked(3, MONDAY)
    days.save()
    again = SiteDays(tmp_path)
    assert again.days == days.days
    again.counted(130, 4, MONDAY)
    assert samples(again) == {"2026-11-23": 130}
    assert again.days[0].epochs == 4


def test_damaged_file_is_set_aside(tmp_path: Path) -> None:
    for data in (b"{", b'{"days": [{"day": "2026-99-99"}]}', b'{"days": 3}', b"x" * 300_000):
        (tmp_path / DAYS).write_bytes(data)
        assert SiteDays(tmp_path).days == ()
        assert not (tmp_path / DAYS).exists()
