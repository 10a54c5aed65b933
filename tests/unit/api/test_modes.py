"""A switch, and the time for which it stands elsewhere."""

import pytest

from core.api.modes import OFF, UseMode, UseSwitch

ALWAYS = UseSwitch(mode=UseMode.ALWAYS)


def test_a_switch_goes_back_when_its_time_is_over():
    snoozed = ALWAYS.off(100.0)
    assert [snoozed.at(now) for now in (0.0, 99.9, 100.0)] == [UseMode.NEVER, UseMode.NEVER, UseMode.ALWAYS]
    assert [snoozed.ends(now) for now in (0.0, 100.0)] == [100.0, None]


def test_contributing_for_a_time_goes_back_to_a_pause():
    switch = OFF.on(100.0)
    assert (switch.at(50.0), switch.at(150.0)) == (UseMode.ALWAYS, UseMode.NEVER)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (OFF, UseMode.RULES),
        (UseSwitch().off(100.0), UseMode.RULES),
        (ALWAYS.off(100.0), UseMode.ALWAYS),
        (OFF.on(100.0), UseMode.RULES),
    ],
)
def test_a_pause_taken_back_counts_at_once(before, after):
    assert before.on(None).at(50.0) is after
    assert before.on(None).ends(50.0) is None


def test_a_pause_without_end_forgets_a_time():
    assert UseSwitch().on(100.0).off(None) == OFF
