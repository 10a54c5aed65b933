"""A whole swarm that nobody has told its lines, and leaders that plan badly."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from core.averaging.balance.portions import best_portions
from core.averaging.balance.traffic import Line, fleet
from core.averaging.bandwidth.demand import demand_of
from core.averaging.matchmaking.division import work_of
from core.averaging.plan import Plan
from core.base.ids import PeerId
from core.base.machine import Send
from core.swarm.words.epoch import Phase
from tests.sim.churn import ChurnSettings
from tests.sim.swarm.settings import SwarmSettings
from tests.sim.swarm.swarm import Swarm, Volunteer
from tests.sim.world.links import LinkSettings

CALM = 1e9


def calm(peers: int, *, links: LinkSettings, **more: Any) -> SwarmSettings:
    churn = ChurnSettings(live=(peers, peers), up_s=CALM, down_s=1.0, first_s=1.0)
    return SwarmSettings(peers=peers, epochs=10**6, churn=churn, links=links, **more)


HOMES = LinkSettings(
    access_s=(0.005, 0.010),
    around_s=0.010,
    jitter_s=0.001,
    loss=0.0,
    duplicate=0.0,
    uplink_bytes_per_s=(20e3, 200e3),
    downlink_bytes_per_s=(100e3, 500e3),
)
HOUSE = LinkSettings(
    access_s=(0.024, 0.026), around_s=0.0, jitter_s=0.0005, loss=0.0, duplicate=0.0, uplink_bytes_per_s=(50e6, 50e6)
)


class Watched:
    """A swarm whose plans are noted."""

    def __init__(self, swarm: Swarm) -> None:
        self.swarm = swarm
        self.plans: dict[bytes, tuple[Plan, float]] = {}
        self.full: dict[int, float] = {}

    def run(self, *, rounds: int, at_most_s: float = 900.0, step_s: float = 0.02) -> None:
        world = self.swarm.world
        while len(self.plans) < rounds and world.elapsed_s < at_most_s:
            world.run(step_s)
            for volunteer in self.swarm.volunteers.values():
                plan = None if volunteer.participant is None else volunteer.participant.rounds.plan
                if plan is not None and plan.round not in self.plans:
                    self.plans[plan.round] = (plan, world.elapsed_s)
            self._note_full()

    def _note_full(self) -> None:
        workers = [v.worker for v in self.swarm.volunteers.values() if v.worker is not None and v.worker.ready]
        epoch = max((worker.model.name.epoch for worker in workers), default=0)
        samples = sum(w.computed.count(self.swarm.world.now) for w in workers if w.model.name.epoch == epoch)
        if samples >= self.swarm.target_samples:
            self.full.setdefault(epoch, self.swarm.world.elapsed_s)

    def volunteers(self) -> list[Volunteer]:
        return list(self.swarm.volunteers.values())


def bound_s(swarm: Swarm, plan: Plan) -> float:
    """Duration of the best plan for the true lines."""
    lines = []
    for peer, member in zip(plan.peers, plan.members, strict=True):
        place = swarm.world.links.place(peer)
        lines.append(
            Line(
                up_bytes_per_s=place.uplink_bytes_per_s,
                down_bytes_per_s=place.downlink_bytes_per_s,
                gives=member.samples > 0,
            )
        )
    return best_portions(fleet(lines, work_of(plan.numel, plan.codec))).seconds


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_a_swarm_learns_its_lines_by_itself(seed: int) -> None:
    settings = calm(5, links=HOMES, measured=True, parameters=30_000, chunk_numel=512)
    watched = Watched(Swarm(seed, settings))
    watched.run(rounds=9, step_s=0.1)
    plans = [plan for plan, _ in watched.plans.values() if len(plan.members) == 5]
    assert len(plans) >= 6
    for plan in plans[-2:]:
        assert demand_of(plan).seconds == pytest.approx(bound_s(watched.swarm, plan), rel=0.15)
    assert not any(v.participant.trace["group.refused"] for v in watched.volunteers() if v.participant is not None)


def test_a_villain_that_leads_costs_less_than_a_second() -> None:
    settings = calm(5, links=HOMES, measured=True, parameters=30_000, chunk_numel=512)
    watched = Watched(Swarm(1, settings))
    watched.run(rounds=4, step_s=0.1)
    villains = watched.volunteers()[:2]
    for villain in villains:
        corrupt(villain)
    before = len(watched.plans)
    watched.run(rounds=before + 8, step_s=0.05)
    refused = sum(v.participant.trace["group.refused"] for v in watched.volunteers() if v.participant is not None)
    assert refused >= 1
    plans = list(watched.plans.values())[before:]
    bad = [i for i, (plan, _) in enumerate(plans[:-1]) if leader_of(plan) in {villain.peer for villain in villains}]
    assert bad, "they had their turn"
    lost_s = sum(plans[i + 1][1] - plans[i][1] for i in bad)
    assert lost_s < 1.0 * refused
    for i in bad:
        (plan, _), (following, _) = plans[i], plans[i + 1]
        assert following.epoch == plan.epoch
        assert leader_of(following) != leader_of(plan)
        assert following.peers == plan.peers, "nobody is left out"
    views = [view for v in watched.volunteers() if (view := v.view()) is not None]
    assert len({view.state for view in views if view.state is not None}) == 1
    phases = {view.phase for view in views}
    assert phases <= set(Phase) - {Phase.FETCHING, Phase.LOADING}, "nobody was left behind"


def leader_of(plan: Plan) -> PeerId:
    return plan.peers[plan.leaders[0]]


def corrupt(villain: Volunteer) -> None:
    """It plans everything on the member with the slowest line."""
    participant = villain.participant
    assert participant is not None

    def twisted(act: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
        return lambda *args, **options: [
            Send(o.to, all_on_the_slowest(o.message)) if isinstance(o, Send) and isinstance(o.message, Plan) else o
            for o in act(*args, **options)
        ]

    rounds = participant.rounds
    for name in ("handle", "offer", "position"):  # all that may lead to a plan
        setattr(rounds, name, twisted(getattr(rounds, name)))


def all_on_the_slowest(plan: Plan) -> Plan:
    slow = min(range(len(plan.lines)), key=lambda i: plan.lines[i].up) if plan.lines else 0
    return msgspec.structs.replace(
        plan, chunks=tuple(plan.chunk_total if i == slow else 0 for i in range(len(plan.members)))
    )


def test_nothing_waits_between_the_target_and_the_plan() -> None:
    """At 100 ms there and back: two round trips for the plan, the rest for the news and the workers' last steps."""
    watched = Watched(Swarm(1, calm(4, links=HOUSE)))
    watched.run(rounds=12, step_s=0.005)
    waits = sorted(at - watched.full[plan.epoch] for plan, at in watched.plans.values() if plan.epoch in watched.full)
    assert len(waits) >= 10
    assert waits[len(waits) // 2] < 0.9
    assert waits[-1] < 1.5
