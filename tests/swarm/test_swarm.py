"""Whole collaborations in worlds where everything goes wrong.  `potluck sim --seeds 1000` runs a thousand of them."""

import os

import pytest

from core.sim.trial import Trial

WORLDS = int(os.environ.get("POTLUCK_WORLDS", "8"))
"""How many small worlds to run."""


@pytest.mark.parametrize("seed", range(WORLDS))
def test_small_worlds(seed: int) -> None:
    verdict = Trial(seed, peers=6, epochs=4).run()
    assert verdict.ok, f"seed {seed} at {verdict.at_s} s: {verdict.problem}"


@pytest.mark.parametrize("seed", [1])
def test_the_world_of_the_promise(seed: int) -> None:
    verdict = Trial(seed, peers=24, epochs=5).run()
    assert verdict.ok, f"seed {seed} at {verdict.at_s} s: {verdict.problem}"
    assert verdict.epochs >= 5


def test_peers_that_vanish_with_their_samples_do_not_hold_the_others_up() -> None:
    verdict = Trial(255, peers=24, epochs=3).run()
    assert verdict.ok, verdict.problem


def test_a_backbone_that_comes_back_with_nothing_divides_nobody() -> None:
    verdict = Trial(138, peers=24, epochs=3).run()
    assert verdict.ok, verdict.problem


def test_a_swarm_of_one() -> None:
    verdict = Trial(11, peers=1, epochs=3).run()
    assert verdict.ok, verdict.problem
