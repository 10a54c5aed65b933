"""What the figures of a world say of the rounds that it has tried."""

from dataclasses import replace

from tests.sim.churn import ChurnSettings
from tests.sim.swarm.settings import SwarmSettings
from tests.sim.swarm.trial import Trial
from tests.sim.world.links import LOCAL

CALM = SwarmSettings(peers=9, epochs=2, churn=ChurnSettings(live=(9, 9), up_s=1e9, first_s=1.0), links=LOCAL, blank=0.0)


def rounds(settings: SwarmSettings) -> dict[str, int]:
    verdict = Trial(1, peers=9, epochs=2, settings=settings).run()
    assert verdict.ok, verdict.problem
    return verdict.rounds


def test_rounds_with_helpers_and_liars_are_counted() -> None:
    found = rounds(replace(CALM, helpers=2, liars=("slanders",)))
    assert found["committed"] >= 2
    assert found["helped"] >= 1
    assert found["with liars"] >= 1
    assert "grid" not in found


def test_rounds_on_a_grid_are_counted() -> None:
    found = rounds(replace(CALM, failure_rate=0.3))
    assert found["grid"] == found["committed"]
    assert not found["with liars"]
