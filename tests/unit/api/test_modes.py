"""A switch, and the time for which it stands elsewhere."""

import msgspec
import pytest

from core.api.modes import FOR_S_MAX, OFF, SLACK_S, UseMode, UseSwitch

ALWAYS = UseSwitch(mode=UseMode.ALWAYS)
NOON, YEAR_S = 1_795_003_200.0, 365 * 86_400.0


def test_a_switch_goes_back_when_its_time_is_over():
    snoozed = ALWAYS.off(100.0, 0.0)
    assert [snoozed.at(now) for now in (0.0, 99.9, 100.0)] == [UseMode.NEVER, UseMode.NEVER, UseMode.ALWAYS]
    assert [snoozed.ends(now) for now in (0.0, 100.0)] == [100.0, None]


def test_contributing_for_a_time_goes_back_to_a_pause():
    switch = OFF.on(100.0, 0.0)
    assert (switch.at(50.0), switch.at(150.0)) == (UseMode.ALWAYS, UseMode.NEVER)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (OFF, UseMode.RULES),
        (UseSwitch().off(100.0, 0.0), UseMode.RULES),
        (ALWAYS.off(100.0, 0.0), UseMode.ALWAYS),
        (OFF.on(100.0, 0.0), UseMode.RULES),
    ],
)
def test_a_pause_taken_back_counts_at_once(before, after):
    assert before.on(None, 50.0).at(50.0) is after
    assert before.on(None, 50.0).ends(50.0) is None


def test_a_pause_without_end_forgets_a_time():
    assert UseSwitch().on(100.0, 0.0).off(None, 50.0) == OFF


def test_a_pause_for_a_time_ends_after_one_without():
    switch = OFF.off(100.0, 0.0)
    assert switch.ends(50.0) == 100.0
    assert [switch.at(now) for now in (50.0, 100.0)] == [UseMode.NEVER, UseMode.RULES]


def test_a_pause_without_end_leaves_nothing_to_go_back_to():
    assert ALWAYS.off(None, 0.0).on(None, 50.0) == UseSwitch()


@pytest.mark.parametrize("clock", [NOON - YEAR_S, NOON - SLACK_S - 1, NOON + 3600, NOON + YEAR_S])
@pytest.mark.parametrize("switch", [UseSwitch().on(NOON + 3600, NOON), ALWAYS.off(NOON + 3600, NOON)])
def test_a_wrong_clock_only_shortens_what_holds_for_a_time(switch, clock):
    assert (switch.at(clock), switch.ends(clock)) == (switch.mode, None)
    for offset in (-SLACK_S, 0.0, 3599.0):
        assert (switch.at(NOON + offset), switch.ends(NOON + offset)) == (switch.meanwhile, NOON + 3600)


def test_a_switch_of_former_versions_is_bounded_too():
    switch = msgspec.json.decode(b'{"meanwhile": "always", "until": 2000000000.0}', type=UseSwitch)
    assert switch.at(2e9 - FOR_S_MAX) is UseMode.ALWAYS
    assert switch.at(2e9 - YEAR_S) is UseMode.RULES


def test_the_longest_time_can_be_written_and_read():
    now = 1_795_003_200.123
    switch = UseSwitch().off(now + FOR_S_MAX, now)
    assert msgspec.json.decode(msgspec.json.encode(switch), type=UseSwitch) == switch
