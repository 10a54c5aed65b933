"""How far a state may be ahead that strangers name."""

import math

from core.swarm.standby import TIMES, WINDOW_S, EpochPace

STEP_S = 4.0


def seen(pace: EpochPace, first: int, last: int, *, at: float = 0.0, step_s: float = STEP_S) -> float:
    """Those who were in rounds step from one epoch to the other; when they are there."""
    for epoch in range(first, last + 1):
        pace.saw(epoch, at + (epoch - first) * step_s)
    return at + (last - first) * step_s


def test_pace_is_unknown_before_a_window_has_passed() -> None:
    pace = EpochPace()
    assert pace.furthest(0.0) == math.inf
    ended = seen(pace, 0, int(WINDOW_S / STEP_S) - 1)
    assert pace.furthest(ended) == math.inf


def test_furthest_grows_with_the_greatest_pace() -> None:
    pace = EpochPace()
    ended = seen(pace, 0, 30)
    assert pace.furthest(ended) == 31
    assert math.isclose(pace.furthest(ended + 100 * STEP_S), 31 + TIMES * 100)
    ended = seen(pace, 31, 60, at=ended + 10 * STEP_S, step_s=10 * STEP_S)
    assert math.isclose(pace.furthest(ended + STEP_S), 61 + TIMES), "slower ones do not make it less"
    ended = seen(pace, 61, 400, at=ended + STEP_S / 2, step_s=STEP_S / 2)
    assert math.isclose(pace.furthest(ended + STEP_S), 401 + 2 * TIMES)


def test_leap_after_an_absence_is_no_pace() -> None:
    pace = EpochPace()
    ended = seen(pace, 0, 30)
    ended = seen(pace, 5000, 5030, at=ended + 2 * WINDOW_S)
    assert math.isclose(pace.furthest(ended + STEP_S), 5031 + TIMES)


def test_way_back_is_no_pace() -> None:
    pace = EpochPace()
    ended = seen(pace, 100, 110)
    ended = seen(pace, 50, 80, at=ended)
    assert math.isclose(pace.furthest(ended + STEP_S), 81 + TIMES)
