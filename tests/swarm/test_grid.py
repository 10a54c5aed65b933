"""Rounds on a grid over simulated lines, and whole collaborations whose plans are grids."""

import pytest

from core.averaging.grid.layout import FailureRate, group_of, layout_of
from tests.sim.churn import ChurnSettings
from tests.sim.rounds.grid_rounds import NUMBERS, Deaths, GridRound, a_plan, measure
from tests.sim.swarm.settings import SwarmSettings
from tests.sim.swarm.trial import Trial
from tests.sim.world.links import LinkSettings
from tests.sim.world.node import End


class Often(FailureRate):
    """Peers that always fear failures, so that their plans are grids."""

    @property
    def value(self) -> float:
        return 0.2

    @value.setter
    def value(self, value: float) -> None:
        """What happens changes nothing."""


@pytest.mark.parametrize(("peers", "stages"), [(9, 2), (11, 2), (27, 3)])
def test_a_grid_takes_as_many_rounds_as_it_has_stages(peers: int, stages: int) -> None:
    plan = a_plan(1, peers, stages=stages)
    grid, one = GridRound(plan, 1), GridRound(a_plan(1, peers, stages=1), 1)
    for round_ in (grid, one):
        round_.run()
        assert not round_.problem()
        assert len(round_.outcomes) == peers
    assert grid.repeats == 0
    assert max(grid.ended_s.values()) < 1.2 * stages * max(one.ended_s.values())


@pytest.mark.parametrize("how", list(End))
@pytest.mark.parametrize("moment", [0.2, 0.75])
def test_a_failure_is_repeated_by_its_group_alone(how: End, moment: float) -> None:
    plan = a_plan(2, 16, stages=2)
    calm = GridRound(plan, 2)
    calm.run()
    victim = 5
    at_s, late = moment * max(calm.ended_s.values()), moment > 0.5
    round_ = GridRound(plan, 2)
    round_.run(Deaths(moments_s={victim: at_s}, how={victim: how}))
    assert not round_.problem()
    assert sorted(round_.outcomes) == [index for index in range(16) if index != victim]
    group = group_of(layout_of(plan)[1], victim).members
    repeated = [i for i, trace in enumerate(round_.traces) if i != victim and trace["averaging.stage_repeated"]]
    assert set(repeated) <= set(group)
    if late:
        assert len(repeated) == len(group) - 1
        assert not round_.outcomes[0].missing, "its block's mean was given by another"
    others = [index for index in round_.alive if index not in group]
    if late:
        assert max(round_.ended_s[index] for index in others) <= max(calm.ended_s[index] for index in others) + 3
    assert max(round_.ended_s.values()) < plan.stages * NUMBERS.round_timeout_s


@pytest.mark.parametrize(("peers", "stages"), [(16, 2), pytest.param(30, 3, marks=pytest.mark.long)])
def test_a_tenth_dies_and_nobody_is_left_with_another_mean(peers: int, stages: int) -> None:
    figures = measure(peers, stages=stages, rounds=4, share=0.1, seed=100)
    assert figures["problems"] == []
    assert figures["died"]
    assert int(str(figures["finished"])) > 3 * peers


@pytest.mark.parametrize("seed", [pytest.param(1, marks=pytest.mark.long), 2])
def test_a_collaboration_on_a_grid_stays_together(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.swarm.rounds.rounds.FailureRate", Often)
    churn = ChurnSettings(live=(10, 12), up_s=60.0, down_s=10.0, first_s=5.0)
    settings = SwarmSettings(peers=12, epochs=4, churn=churn, links=LinkSettings(), aimed=0.1)
    trial = Trial(seed, peers=12, epochs=4, settings=settings)
    verdict = trial.run()
    assert verdict.ok, f"seed {seed} at {verdict.at_s} s: {verdict.problem}"
    plans = [v.participant.rounds.plan for v in trial.swarm.volunteers.values() if v.participant is not None]
    assert any(plan is not None and plan.stages > 1 for plan in plans)
