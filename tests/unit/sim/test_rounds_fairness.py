"""The network of lines against the max-min fair division of a fluid, made by progressive filling."""

from random import Random
from statistics import median

from core.averaging.balance.traffic import Line
from tests.sim.rounds.network import NetworkSettings, SimulatedLines
from tests.sim.world.agenda import Agenda

Flow = tuple[int, int, float]
"""Sender, receiver, bytes."""


def max_min(flows: list[Flow], up: list[float], down: list[float]) -> list[float]:
    """Raise all rates together; a flow at a full line stays where it is (Bertsekas and Gallager 1992, 6.5.2)."""
    ways = [(("up", sender), ("down", receiver)) for sender, receiver, _ in flows]
    room = {("up", i): rate for i, rate in enumerate(up)} | {("down", i): rate for i, rate in enumerate(down)}
    rates = [0.0] * len(flows)
    rising = set(range(len(flows)))
    while rising:
        crowd = {line: sum(line in ways[flow] for flow in rising) for line in room}
        full = min((line for line in room if crowd[line]), key=lambda line: room[line] / crowd[line])
        rate = room[full] / crowd[full]
        for flow in [flow for flow in rising if full in ways[flow]]:
            rates[flow] = rate
            rising.discard(flow)
            for line in ways[flow]:
                room[line] -= rate
    return rates


def fluid(flows: list[Flow], up: list[float], down: list[float]) -> list[float]:
    """When each flow ends."""
    left = {index: size for index, (_, _, size) in enumerate(flows)}
    ends, now = [0.0] * len(flows), 0.0
    while left:
        rates = dict(zip(left, max_min([flows[index] for index in left], up, down), strict=True))
        step_s = min(left[index] / rates[index] for index in left)
        now += step_s
        for index, rate in rates.items():
            left[index] -= rate * step_s
            if left[index] <= 1e-6 * flows[index][2]:
                ends[index] = now
                del left[index]
    return ends


def in_the_network(flows: list[Flow], up: list[float], down: list[float]) -> list[float]:
    agenda = Agenda(0.0)
    ends: dict[int, float] = {}
    network = SimulatedLines(
        agenda,
        [Line(up_bytes_per_s=u, down_bytes_per_s=d) for u, d in zip(up, down, strict=True)],
        deliver=lambda sender, receiver, message: ends.__setitem__(message, agenda.now),
        settings=NetworkSettings(overhead_bytes=0, delay_s=1e-6),
    )
    for number, (sender, receiver, size) in enumerate(flows):
        network.carry(sender, receiver, number, payload_bytes=size)
    agenda.run(1e6)
    return [ends[number] for number in range(len(flows))]


def test_flows_share_lines_as_a_fluid_would() -> None:
    slowest, fastest, whole = [], [], []
    for seed in range(30):
        random = Random(seed)
        members = random.randint(3, 8)
        up, down = ([10 ** random.uniform(5, 7) for _ in range(members)] for _ in range(2))
        pairs = [(i, j) for i in range(members) for j in range(members) if i != j and random.random() < 0.5]
        flows = [(i, j, 10 ** random.uniform(6, 7)) for i, j in pairs or [(0, 1)]]
        expected, found = fluid(flows, up, down), in_the_network(flows, up, down)
        ratios = [have / want for want, have in zip(expected, found, strict=True)]
        slowest.append(max(ratios))
        fastest.append(min(ratios))
        whole.append(max(found) / max(expected))
    assert median(slowest) < 1.05
    assert median(fastest) > 0.94
    assert max(slowest) < 1.4
    assert min(whole) > 0.9999
    assert max(whole) < 1.05
