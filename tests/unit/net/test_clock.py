from hypothesis import given
from hypothesis import strategies as st

from core.net.clock import Clock


class Times:
    def __init__(self) -> None:
        self.wall, self.monotonic = 1000.0, 5.0

    def clock(self, **arguments) -> Clock:
        return Clock(wall=lambda: self.wall, monotonic=lambda: self.monotonic, **arguments)


def test_it_runs_with_the_monotonic_clock():
    times = Times()
    clock = times.clock()
    times.monotonic += 3
    times.wall += 3.5  # somebody trims the wall clock a little
    assert clock.now() == 1003.0


def test_it_follows_the_wall_clock_forward_after_a_sleep():
    times = Times()
    clock = times.clock()
    times.wall += 3600
    assert clock.now() == 4600.0
    times.monotonic += 1
    times.wall += 1
    assert clock.now() == 4601.0


def test_a_correction_is_kept():
    times = Times()
    clock = times.clock(ahead_s=-30.0)
    assert clock.now() == 970.0
    times.wall += 100
    assert clock.now() == 1070.0


@given(st.lists(st.tuples(st.floats(-1e4, 1e4), st.floats(0, 100))))
def test_it_never_goes_back(steps):
    times = Times()
    clock = times.clock()
    last = clock.now()
    for wall, monotonic in steps:
        times.wall += wall
        times.monotonic += monotonic
        assert clock.now() >= last
        last = clock.now()
