import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.net.clock import OPINION_S, PEERS_MAX, Clock
from tests.unit.net.people import id_of

YEAR_S = 365 * 86_400.0
ANNA, BEN, EVE = id_of("anna"), id_of("ben"), id_of("eve")


class Times:
    def __init__(self, **arguments: bool) -> None:
        self.wall, self.steady = 1000.0, 5.0
        self.clock = Clock(wall=lambda: self.wall, steady=lambda: self.steady, **arguments)


@pytest.mark.parametrize("step_s", [0.5, 90.0, 600.0, -86_400.0, 2 * YEAR_S])
def test_steps_of_the_wall_clock_change_nothing(step_s):
    times = Times()
    times.steady += 3
    times.wall += 3 + step_s
    assert times.clock.now() == 1003.0
    assert times.clock.wall_ahead_s == step_s
    times.wall -= step_s
    assert (times.clock.now(), times.clock.wall_ahead_s) == (1003.0, 0.0)


def test_the_backbones_time_corrects_the_first_guess():
    times = Times()
    times.clock.correct(-600.0)
    assert times.clock.now() == 400.0
    assert times.clock.wall_ahead_s == 600.0


def test_sleep_is_counted_by_the_steady_clock():
    times = Times()
    times.steady += 3600
    assert times.clock.now() == 4600.0


def test_two_peers_that_agree_move_the_clock_forward():
    clock = Times().clock
    clock.heard(ANNA, 600.0)
    assert clock.now() == 1000.0, "one may lie"
    clock.heard(BEN, 605.0)
    assert clock.now() == 1600.0


@pytest.mark.parametrize("lie_s", [600.0, YEAR_S])
def test_one_liar_of_three_moves_no_clock(lie_s):
    clock = Times().clock
    for _ in range(3):
        for peer, ahead_s in ((ANNA, 0.0), (BEN, 1.0), (EVE, lie_s)):
            clock.heard(peer, ahead_s)
    assert clock.now() == 1000.0


def test_one_liar_of_three_cannot_say_how_far():
    clock = Times().clock
    for peer, ahead_s in ((EVE, YEAR_S), (ANNA, 600.0), (BEN, 601.0)):
        clock.heard(peer, ahead_s - (clock.now() - 1000.0))
    assert clock.now() == 1600.0


def test_an_authority_also_needs_its_wall_clock():
    times = Times(authority=True)
    for peer in (ANNA, BEN, EVE):
        times.clock.heard(peer, 600.0)
    assert times.clock.now() == 1000.0
    times.wall += 590.0
    times.clock.heard(ANNA, 600.0)
    assert times.clock.now() == 1590.0


def test_peers_never_move_the_clock_back():
    clock = Times().clock
    for peer in (ANNA, BEN, EVE):
        clock.heard(peer, -600.0)
    assert clock.now() == 1000.0


def test_small_differences_are_left_alone():
    clock = Times().clock
    for peer in (ANNA, BEN, EVE):
        clock.heard(peer, 29.0)
    assert clock.now() == 1000.0


def test_old_answers_do_not_count():
    times = Times()
    for peer in (ANNA, BEN):
        times.clock.heard(peer, 0.0)
    times.steady += OPINION_S + 1
    times.clock.heard(EVE, 600.0)
    assert times.clock.now() == 1000.0 + OPINION_S + 1
    times.clock.heard(ANNA, 600.0)
    assert times.clock.now() == 1600.0 + OPINION_S + 1


def test_many_peers_cost_bounded_memory():
    clock = Times().clock
    for number in range(3 * PEERS_MAX):
        clock.heard(id_of(str(number)), 0.0)
    clock.heard(ANNA, 600.0)
    clock.heard(BEN, 600.0)
    assert clock.now() == 1000.0


@given(st.lists(st.tuples(st.floats(-1e4, 1e4), st.floats(0, 100), st.sampled_from("abc"), st.floats(-1e6, 1e6))))
def test_it_never_goes_back(steps):
    times = Times()
    last = times.clock.now()
    for wall, steady, name, ahead_s in steps:
        times.wall += wall
        times.steady += steady
        times.clock.heard(id_of(name), ahead_s)
        assert times.clock.now() >= last
        last = times.clock.now()
