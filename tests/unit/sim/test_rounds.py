"""The network of lines against what arithmetic says, and rounds in it."""

import numpy as np
import pytest

from core.averaging.balance.traffic import Line
from tests.sim.rounds.fleet_plan import RoundTask, fleet_plan, shares, vectors
from tests.sim.rounds.network import NetworkSettings, SimulatedLines
from tests.sim.rounds.report import exact_mean, report_of, simulate_round
from tests.sim.rounds.run import Death, DeathWay, Round
from tests.sim.world.agenda import Agenda

MB = 1e6
NO_OVERHEAD = NetworkSettings(overhead_bytes=0, delay_s=1e-6)


def line(up: float, down: float | None = None, **flags: bool) -> Line:
    return Line(up_bytes_per_s=up, down_bytes_per_s=up if down is None else down, **flags)


class Flows:
    """Messages through a network, and when each arrives."""

    def __init__(self, lines: list[Line], settings: NetworkSettings = NO_OVERHEAD) -> None:
        self.agenda = Agenda(0.0)
        self.arrived: dict[object, float] = {}
        self.network = SimulatedLines(self.agenda, lines, deliver=self._deliver, settings=settings)

    def _deliver(self, sender: int, receiver: int, message: object) -> None:
        self.arrived[message] = self.agenda.now

    def run(self, *flows: tuple[int, int, float]) -> list[float]:
        for number, (sender, receiver, size) in enumerate(flows):
            self.network.carry(sender, receiver, number, payload_bytes=size)
        self.agenda.run(1e6)
        return [self.arrived[number] for number in range(len(flows))]


@pytest.mark.parametrize(("up", "down"), [(1 * MB, 10 * MB), (10 * MB, 1 * MB), (1 * MB, 1 * MB)])
def test_a_single_flow_has_the_rate_of_the_slower_line(up: float, down: float) -> None:
    (end,) = Flows([line(up), line(100 * MB, down)]).run((0, 1, 5 * MB))
    assert end == pytest.approx(5.0, rel=0.02)


def test_flows_into_one_line_share_it_and_waste_nothing() -> None:
    ends = Flows([line(10 * MB), line(10 * MB), line(10 * MB), line(10 * MB, 3 * MB)]).run(
        (0, 3, 1 * MB), (1, 3, 1 * MB), (2, 3, 4 * MB)
    )
    assert ends[:2] == pytest.approx([1.0, 1.0], rel=0.05)
    assert ends[2] == pytest.approx(2.0, rel=0.01)


def test_a_slow_receiver_does_not_hold_up_the_senders_others() -> None:
    ends = Flows([line(10 * MB), line(MB, 0.1 * MB), line(10 * MB)]).run((0, 1, 1 * MB), (0, 2, 9.9 * MB))
    assert ends[0] == pytest.approx(10.0, rel=0.02)
    assert ends[1] == pytest.approx(1.0, rel=0.02)  # 0.1 of the 10 MB/s go to the slow one


def test_a_slow_sender_does_not_occupy_the_receivers_line() -> None:
    ends = Flows([line(0.1 * MB), line(10 * MB), line(10 * MB)]).run((0, 2, 1 * MB), (1, 2, 9.9 * MB))
    assert ends[0] == pytest.approx(10.0, rel=0.02)
    assert ends[1] == pytest.approx(1.0, rel=0.02)


def test_both_directions_at_once() -> None:
    ends = Flows([line(MB), line(MB)]).run((0, 1, 2 * MB), (1, 0, 2 * MB))
    assert ends == pytest.approx([2.0, 2.0], rel=0.02)


def test_control_waits_for_nothing() -> None:
    flows = Flows([line(MB), line(MB)])
    flows.network.carry(0, 1, "bulk", payload_bytes=MB)
    flows.network.say(0, 1, "control")
    flows.agenda.run(10.0)
    assert flows.arrived["control"] == pytest.approx(1e-6)
    assert flows.arrived["bulk"] == pytest.approx(1.0, rel=0.02)


def test_stopped_peer_sends_and_receives_nothing() -> None:
    flows = Flows([line(MB), line(MB), line(MB)])
    flows.network.carry(0, 1, "from the dead", payload_bytes=MB)
    flows.network.carry(2, 0, "to the dead", payload_bytes=MB)
    flows.agenda.run(0.5)
    flows.network.stop(0)
    flows.agenda.run(10.0)
    assert not flows.arrived
    assert flows.network.sent_bytes[0] == pytest.approx(0.5 * MB, rel=0.1)


@pytest.mark.parametrize("members", [2, 4, 9])
def test_equal_peers_take_what_the_formula_says(members: int) -> None:
    task = RoundTask(numel=members * 64 * 1024, chunk_numel=1024, scale=16)
    report = simulate_round([line(MB)] * members, task, seed=1, settings=NO_OVERHEAD)
    expected = 2 * (members - 1) / members * 4 * task.numel / MB
    assert report.finished == members
    assert report.seconds == pytest.approx(expected, rel=0.05)
    assert report.seconds >= expected
    assert sum(report.sent_bytes) == pytest.approx(members * expected * MB)
    assert report.sent_bytes == pytest.approx(report.received_bytes)


def test_a_round_is_exact_and_repeatable() -> None:
    lines = [line(MB), line(2 * MB, 5 * MB), line(0.5 * MB, gives=False), line(MB, reduces=False)]
    task = RoundTask(numel=100_000, chunk_numel=1000, scale=10)
    chunks = shares(lines, task, [3, 4, 1, 0])
    first, again = (simulate_round(lines, task, seed=3, chunks=chunks) for _ in range(2))
    assert first == again
    assert first.same
    assert first.finished == 4
    assert first.relative_error < 1e-6
    assert [peer_samples for _, peer_samples in first.outcomes[0].contributors] == [1, 1, 1]
    assert simulate_round(lines, task, seed=4, chunks=chunks) != first


def test_fewer_real_numbers_do_not_change_the_time() -> None:
    lines = [line(MB), line(3 * MB, 2 * MB), line(0.7 * MB)]
    whole, scaled = (
        simulate_round(lines, RoundTask(numel=99_000, chunk_numel=1024, codec="fp16", scale=scale), seed=5)
        for scale in (1, 64)
    )
    assert whole.seconds == pytest.approx(scaled.seconds, rel=1e-3)
    assert whole.sent_bytes == pytest.approx(scaled.sent_bytes, rel=1e-3)


@pytest.mark.parametrize("way", list(DeathWay))
def test_the_survivors_of_a_death_agree_on_an_exact_mean(way: DeathWay) -> None:
    task = RoundTask(numel=60_000, chunk_numel=1000, stall_timeout_s=2.0, round_timeout_s=60.0)
    death = Death(member=2, at_s=0.2, way=way, noticed_s=5.0)
    lines = [line(MB)] * 5
    plan = fleet_plan(lines, task, seed=6, chunks=shares(lines, task, None))
    deadly = Round(plan, lines, task, contributions=vectors(plan, 6))
    deadly.run([death])
    report = report_of(deadly)
    assert report.dead == (2,)
    assert report.finished == 4
    assert report.same
    assert report.relative_error < 1e-6
    undisturbed = simulate_round(lines, task, seed=6)
    assert undisturbed.seconds < report.seconds < undisturbed.seconds + 12.0
    assert plan.peers[2] in {peer for peer, _ in report.outcomes[0].missing}


def test_the_exact_mean_is_that_of_the_contributors() -> None:
    task = RoundTask(numel=4_000, chunk_numel=500)
    lines = [line(MB)] * 3
    plan = fleet_plan(lines, task, seed=9, chunks=shares(lines, task, None), samples=[1, 2, 0])
    drawn = vectors(plan, 9)
    going = Round(plan, lines, task, contributions=drawn)
    going.run()
    expected = (drawn[0].astype(np.float64) + 2 * drawn[1].astype(np.float64)) / 3
    assert np.allclose(exact_mean(going, 2), expected, rtol=1e-12, atol=0)
    assert np.allclose(going.results[2], expected, atol=1e-6)
