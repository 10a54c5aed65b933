"""The meter, and what an estimate makes of its sightings."""

import pytest

from core.base.ids import PeerId, hashed_key
from core.base.meter import FLOWS_MAX, LOOK_S, PRESSED, Glance, Meter

MEGA = 1e6


def peer(number: int) -> PeerId:
    return PeerId(hashed_key(b"line", number.to_bytes(4, "big")))


class Line:
    """Flows that move at given rates, as a meter sees them."""

    def __init__(self, flows: int) -> None:
        self.meter = Meter()
        self.meter.receivers = frozenset(peer(i) for i in range(flows))
        self.now = 50.0
        self.left = [0.0] * flows
        self.arrived = [0.0] * flows
        self.look([False] * flows)

    def look(self, waiting: list[bool]) -> None:
        flows = zip(self.left, self.arrived, waiting, strict=True)
        self.meter.look(
            self.now, [Glance(i, peer(i), int(left), int(came), waits) for i, (left, came, waits) in enumerate(flows)]
        )

    def run(self, seconds: float, up: list[float], down: list[float], waiting: list[bool]) -> None:
        for _ in range(round(seconds / LOOK_S)):
            self.now += LOOK_S
            self.left = [before + rate * LOOK_S for before, rate in zip(self.left, up, strict=True)]
            self.arrived = [before + rate * LOOK_S for before, rate in zip(self.arrived, down, strict=True)]
            self.look(waiting)


def test_meter_reports_the_busiest_half_second() -> None:
    line = Line(2)
    line.run(1.0, [MEGA, MEGA], [0.0, 3 * MEGA], [False, False])
    line.run(1.0, [3 * MEGA, 2 * MEGA], [MEGA, MEGA], [True, True])
    line.run(1.0, [0.0, 0.0], [0.0, 0.0], [False, False])
    seen = line.meter.harvest()
    assert seen.up == pytest.approx(5 * MEGA, rel=0.01)
    assert seen.down == pytest.approx(3 * MEGA, rel=0.01)
    assert line.meter.harvest().up == 0.0, "what was harvested is gone"


def test_of_a_long_round_the_busiest_two_seconds_count() -> None:
    """Half a second can be faster than the line: what had filled a queue on the way arrives as well."""
    line = Line(1)
    line.run(2.0, [2 * MEGA], [MEGA], [True])
    line.run(0.5, [3 * MEGA], [2 * MEGA], [True])
    line.run(2.0, [1 * MEGA], [MEGA], [True])
    seen = line.meter.harvest()
    assert seen.up == pytest.approx((1.5 * 2 + 0.5 * 3) / 2 * MEGA, rel=0.01)
    assert seen.down == pytest.approx((1.5 * 1 + 0.5 * 2) / 2 * MEGA, rel=0.01)


def test_line_is_not_pressed_when_one_slow_receiver_delays_bytes() -> None:
    line = Line(2)
    line.run(2.0, [MEGA, 4 * MEGA], [0.0, 0.0], [True, False])
    seen = line.meter.harvest()
    assert not seen.pressed
    assert seen.held == {peer(0): pytest.approx(MEGA, rel=0.1)}


def test_a_pair_is_as_fast_as_in_its_best_moment() -> None:
    """Flows that share a line are slow by turns; a pair that is slow never is fast."""
    line = Line(3)
    for turn in range(6):
        slow = turn % 2
        rates = [4 * MEGA, 4 * MEGA, 0.5 * MEGA]
        rates[slow] = 0.2 * MEGA
        waiting = [slow == 0, slow == 1, True]
        line.run(1.0, rates, [0.0] * 3, waiting)
    held = line.meter.harvest().held
    assert held[peer(0)] == pytest.approx(4 * MEGA, rel=0.01)
    assert held[peer(1)] == pytest.approx(4 * MEGA, rel=0.01)
    assert held[peer(2)] == pytest.approx(0.5 * MEGA, rel=0.01)


def test_burst_into_a_buffer_is_not_taken_for_bandwidth() -> None:
    """256 KiB that leave at once, every second: a half second of it is the most that counts."""
    line = Line(1)
    for _ in range(4):
        line.run(LOOK_S, [262_144 / LOOK_S], [0.0], [False])
        line.run(1.0 - LOOK_S, [0.0], [0.0], [False])
    assert line.meter.harvest().up <= 2 * 262_144 * 1.01


def test_a_stint_shorter_than_a_window_counts_as_a_whole() -> None:
    line = Line(1)
    line.run(2 * LOOK_S, [4 * MEGA], [MEGA], [True])
    seen = line.meter.harvest()
    assert seen.up == pytest.approx(4 * MEGA, rel=0.01)
    assert seen.pressed


def test_a_slow_line_is_measured_over_the_whole_stint() -> None:
    line = Line(1)
    line.run(20.0, [4000.0], [5000.0], [True])
    seen = line.meter.harvest()
    assert (seen.up, seen.down) == (pytest.approx(4000, rel=0.01), pytest.approx(5000, rel=0.01))


def test_too_little_tells_nothing() -> None:
    line = Line(1)
    line.run(1.0, [1000.0], [1000.0], [False])
    seen = line.meter.harvest()
    assert (seen.up, seen.down, seen.pressed) == (0.0, 0.0, False)


def test_no_more_is_offered_than_the_person_allows() -> None:
    line = Line(1)
    line.meter.cap_up, line.meter.cap_down = MEGA, 2 * MEGA
    line.run(2.0, [4 * MEGA], [9 * MEGA], [False])
    seen = line.meter.harvest()
    assert (seen.up, seen.down, seen.pressed) == (MEGA, 2 * MEGA, True)


def test_flows_come_and_go_and_begin_anew() -> None:
    meter = Meter()
    for number in range(40):
        flow = Glance(number // 8, peer(0), 1_000_000 * (number % 8), 0, waiting=True)
        meter.look(number * LOOK_S, [flow])
    assert meter.harvest().up <= 8 * MEGA * 1.01
    meter.look(100.0, [Glance(i, peer(i), 0, 0, waiting=False) for i in range(FLOWS_MAX + 10)])
    assert len(meter._flows) == FLOWS_MAX


@pytest.mark.parametrize("part", [0.9 * PRESSED, 1.1 * PRESSED])
def test_line_is_pressed_when_bytes_waited_for_most_peers(part: float) -> None:
    """A faster line than the others' has nothing to send now and then; a slow one's bytes wait all along."""
    line = Line(3)
    line.run(20 * part, [MEGA] * 3, [0.0] * 3, [True, True, False])
    line.run(20 * (1 - part), [MEGA] * 3, [0.0] * 3, [True, False, False])
    seen = line.meter.harvest()
    assert seen.pressed == (part > PRESSED)
