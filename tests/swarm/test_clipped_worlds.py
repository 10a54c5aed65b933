"""Collaborations whose parts are clipped: the means are what they should be, whatever happens and whoever lies."""

from dataclasses import replace

import pytest

from core.averaging.commit.proof import Doubts, Proof
from tests.sim.churn import ChurnSettings
from tests.sim.swarm.false_means import FALSE_MEANS
from tests.sim.swarm.settings import CLIPPED, SwarmSettings
from tests.sim.swarm.trial import Trial, WorldVerdict
from tests.sim.world.links import LOCAL

EPOCHS = 4


def world(seed: int, *, lies: tuple[str, ...] = ()) -> WorldVerdict:
    """Four honest volunteers and some that lie, without any other mishap."""
    count = 4 + len(lies)
    churn = ChurnSettings(live=(count, count), up_s=1e9, down_s=1.0, first_s=1.0)
    settings = SwarmSettings(
        peers=count, epochs=EPOCHS, churn=churn, links=LOCAL, aggregator=CLIPPED, liars=lies, ends=True
    )
    return Trial(seed, peers=count, epochs=EPOCHS, settings=settings).run()


@pytest.mark.parametrize("lie", FALSE_MEANS)
def test_false_mean_becomes_no_state_of_a_collaboration(lie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = world(2, lies=(lie,))
    assert verdict.ok, verdict.problem
    assert verdict.rounds["with liars"]
    monkeypatch.setattr(Proof, "doubts", lambda *_: Doubts((), (), {}))
    if lie != "means x1000":  # a bound on norms holds that without the proof
        assert "is not the clipped one" in world(2, lies=(lie,)).problem


@pytest.mark.parametrize("seed", [1, 6])
def test_means_are_clipped_ones_whatever_goes_wrong(seed: int) -> None:
    drawn = SwarmSettings.drawn(seed, peers=6, epochs=3)
    verdict = Trial(seed, peers=6, epochs=3, settings=replace(drawn, aggregator=CLIPPED)).run()
    assert verdict.ok, verdict.problem
