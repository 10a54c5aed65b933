"""Whole collaborations in worlds where everything goes wrong. See `python -m tests.sim swarm --seeds N`."""

import os
from dataclasses import replace

import pytest

from tests.sim.churn import ChurnSettings
from tests.sim.swarm.settings import SwarmSettings
from tests.sim.swarm.trial import Trial, WorldVerdict

WORLDS = int(os.environ.get("POTLUCK_WORLDS", "3"))
"""How many small worlds to run."""


@pytest.mark.parametrize("seed", range(WORLDS))
def test_small_worlds(seed: int) -> None:
    verdict = Trial(seed, peers=6, epochs=4).run()
    assert verdict.ok, f"seed {seed} at {verdict.at_s} s: {verdict.problem}"


@pytest.mark.parametrize(
    ("seed", "codec"),
    [
        (2, "u8"),
        pytest.param(3, "b8", marks=pytest.mark.long),
        (4, "q4"),
        pytest.param(5, "q4", marks=pytest.mark.long),
        (6, "adaptive"),
    ],
)
def test_small_worlds_in_other_codecs(seed: int, codec: str) -> None:
    """Peers go and come back, workers are stopped in rounds: all still hold the same bits of every state."""
    drawn = SwarmSettings.drawn(seed, peers=6, epochs=4)
    world = replace(drawn, codec=codec, pause_s=120.0, churn=replace(drawn.churn, up_s=120.0))
    trial = Trial(seed, peers=6, epochs=4, settings=world)
    verdict = trial.run()
    assert verdict.ok, f"seed {seed} at {verdict.at_s} s: {verdict.problem}"
    if codec == "q4":
        stores = [volunteer.disk.residuals for volunteer in trial.swarm.volunteers.values()]
        assert sum(store.read(0) is not None for store in stores) >= 2


@pytest.mark.long
def test_a_world_of_two_dozen_volunteers() -> None:
    verdict = Trial(1, peers=24, epochs=2).run()
    assert verdict.ok, f"at {verdict.at_s} s: {verdict.problem}"


def small_world(seed: int, **faults: float) -> WorldVerdict:
    """Eight peers that stay for half a minute on average."""
    churn = ChurnSettings(live=(4, 8), up_s=30.0, down_s=10.0, first_s=1.0)
    settings = SwarmSettings(peers=8, epochs=3, churn=churn, **faults)
    return Trial(seed, peers=8, epochs=3, settings=settings).run()


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_vanished_peers_with_samples_do_not_delay_the_others(seed: int) -> None:
    verdict = small_world(seed, aimed=0.15, freeze_s=60.0)
    assert verdict.ok, verdict.problem


def test_a_backbone_that_comes_back_with_nothing_divides_nobody() -> None:
    verdict = small_world(2, backbone_s=20.0, blank=0.5)
    assert verdict.ok, verdict.problem


def test_a_swarm_of_one() -> None:
    verdict = Trial(11, peers=1, epochs=3).run()
    assert verdict.ok, verdict.problem
