"""Small DHT worlds in which everything goes wrong; `python -m tests.sim dht-worlds` runs thousands."""

import os

import pytest

from tests.sim.dht.worlds import SmallWorld
from tests.sim.program import main as simulate

WORLDS = 2 * int(os.environ.get("POTLUCK_WORLDS", "3"))

FOUND = {
    0: "with disjoint paths, a store missed peers nearest to its key: each path looked for too few",
    6347: "a slow computer that fell behind threw late answers away, forgot everybody, and so never recovered",
    15: "a record stayed where it was when the nearest holder was itself new, or gone",
}
"""Seeds that once failed, and why."""


@pytest.mark.parametrize("seed", [*FOUND, *range(100, 100 + WORLDS)])
def test_small_worlds(seed: int) -> None:
    verdict = SmallWorld(seed).run()
    assert verdict.ok, f"seed {seed} at {verdict.at_s} s: {verdict.problem}"


def test_a_seed_repeats_its_world_to_the_byte() -> None:
    once = SmallWorld(3).run()
    assert SmallWorld(3).run() == once
    assert SmallWorld(4).run().digest != once.digest


def test_the_command_counts_worlds_and_names_the_ones_that_failed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert simulate(["dht-worlds", "--worlds", "2", "--seed", "7"]) == 0
    assert "No checker found anything wrong." in capsys.readouterr().out
    monkeypatch.setattr("tests.sim.dht.judge.NODE_BYTES_MAX", 1)
    assert simulate(["dht-worlds", "--worlds", "1", "--seed", "7"]) == 1
    assert "python -m tests.sim dht-worlds --seed 7" in capsys.readouterr().out
