"""One round leads to one state, and where a liar makes two of it, they have two names."""

import pytest

from tests.sim.churn import ChurnSettings
from tests.sim.swarm.liars import TWO_COMMITS
from tests.sim.swarm.settings import SwarmSettings
from tests.sim.swarm.trial import Trial, WorldVerdict
from tests.sim.world.links import LOCAL


def calm(peers: int) -> ChurnSettings:
    return ChurnSettings(live=(peers, peers), up_s=1e9, first_s=1.0)


def verdict_of(seed: int, settings: SwarmSettings) -> WorldVerdict:
    verdict = Trial(seed, peers=settings.peers, epochs=settings.epochs, settings=settings).run()
    assert verdict.ok, f"seed {seed} at {verdict.at_s} s: {verdict.problem}"
    return verdict


@pytest.mark.parametrize("seed", [3, *(pytest.param(seed, marks=pytest.mark.long) for seed in (4, 8))])
def test_partitions_in_rounds_leave_each_round_one_outcome(seed: int) -> None:
    world = SwarmSettings(peers=9, epochs=5, churn=calm(9), blank=0.0, aimed_partitions=1.0)
    assert verdict_of(seed, world).partitions >= 2


@pytest.mark.parametrize("seed", [2, 3])
def test_two_commits_of_a_liar_lead_to_two_states(seed: int) -> None:
    world = SwarmSettings(peers=5, epochs=4, churn=calm(5), links=LOCAL, blank=0.0, liars=(TWO_COMMITS,))
    verdict = verdict_of(seed, world)
    assert verdict.rounds["led by liars"] >= 2
    assert verdict.rounds["committed"] > 4, "both halves have gone on"
