"""A person's days are the differences between ledgers, and come to what the newest one says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.api.site_view import SitePerson
from core.site.history import BEFORE, PersonDay, changes, counted, recent_average
from tests.unit.site.views import view

MONDAY, TUESDAY, FRIDAY = "2026-11-23", "2026-11-24", "2026-11-27"


def person(number: int, samples: int) -> SitePerson:
    return SitePerson(1, "Ada", samples, 1, 0, number.to_bytes(16, "big"), (samples,))


def after(*steps: tuple[int, str, bool]) -> dict[str, tuple[int, int]]:
    """Samples and undone ones by day, after ledgers that say one sum of a person after the other."""
    rows, before = dict[str, PersonDay](), 0
    for samples, day, restores in steps:
        rows |= counted(rows, samples - before, day, restores=restores)
        before = samples
    return {row.day: (row.samples, row.undone) for row in rows.values()}


def test_day_has_what_a_ledger_adds() -> None:
    assert after((5, BEFORE, False), (15, MONDAY, False), (18, MONDAY, False), (20, TUESDAY, False)) == {
        BEFORE: (5, 0),
        MONDAY: (13, 0),
        TUESDAY: (2, 0),
    }


def test_samples_that_are_gone_leave_the_last_days() -> None:
    steps = ((100, MONDAY, False), (150, TUESDAY, False), (70, FRIDAY, True))
    assert after(*steps) == {MONDAY: (70, 30), TUESDAY: (0, 50)}


def test_going_back_that_is_taken_back_restores_days() -> None:
    steps = ((100, MONDAY, False), (150, TUESDAY, False), (70, FRIDAY, True))
    assert after(*steps, (90, FRIDAY, False)) == {MONDAY: (70, 30), TUESDAY: (0, 50), FRIDAY: (20, 0)}
    assert after(*steps, (160, FRIDAY, True)) == {MONDAY: (100, 0), TUESDAY: (50, 0), FRIDAY: (10, 0)}


@given(st.lists(st.tuples(st.integers(0, 1000), st.sampled_from([MONDAY, TUESDAY, FRIDAY]), st.booleans()), min_size=1))
def test_days_come_to_what_the_newest_ledger_says(steps: list[tuple[int, str, bool]]) -> None:
    steps.sort(key=lambda step: step[1])
    days = after(*steps)
    assert sum(samples for samples, _ in days.values()) == steps[-1][0]
    assert all(samples >= 0 and undone >= 0 for samples, undone in days.values())


def test_ledger_without_room_for_all_takes_nothing_away() -> None:
    old = {bytes(15) + bytes([number]): 10 for number in (1, 2)}
    whole = view(people=(person(1, 14),), samples=14)
    assert changes(old, whole) == {bytes(15) + b"\1": 4, bytes(15) + b"\2": -10}
    cut = view(people=(person(1, 14),), samples=24)
    assert changes(old, cut) == {bytes(15) + b"\1": 4}


def test_recent_average_is_that_of_boinc() -> None:
    """As `update_average` of BOINC's server has it, day after day."""
    rows = [PersonDay(BEFORE, 999), PersonDay(MONDAY, 70), PersonDay(TUESDAY, 140), PersonDay(FRIDAY, 10**6)]
    average = 0.0
    for work in (70, 140, 0, 0):
        weight = 2 ** (-1 / 7)
        average = average * weight + (1 - weight) * work
    assert recent_average(rows, FRIDAY) == pytest.approx(average)
    assert recent_average([], FRIDAY) == 0


def test_ten_thousand_rows_are_compared_one_by_one() -> None:
    old = {number.to_bytes(16, "big"): number for number in range(10_000)}
    shown = view(people=tuple(person(number, number + 1) for number in range(10_000)), samples=10**8)
    assert changes(old, shown) == dict.fromkeys(old, 1)
