"""The trial with many peers, in small."""

import json

import pytest

from core.base.problems import BadInput
from tests.sim.nat.program import LOAD_BYTES, NatTrial, main


def test_every_pair_connects_and_a_seed_repeats_a_run() -> None:
    trial = NatTrial(peers=30, seed=3, calls=2, over_s=60.0)
    figures = trial.run()
    assert figures["failed"] == 0
    assert figures["pairs"] > 40
    assert 0 < figures["relayed"] < 1
    assert figures["direct"] + figures["relayed"] == pytest.approx(1, abs=0.001)
    for load in ("peak_circuits", "carried_bytes"):
        assert 0 <= figures[load]["p50"] <= figures[load]["p95"] <= figures[load]["max"]
    assert 0 < figures["peak_circuits"]["max"] <= figures["circuits_allowed"]
    assert figures["carried_bytes"]["max"] > LOAD_BYTES
    assert trial.run() == figures


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--peers", "20", "--seed", "1", "--calls", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["failed"] == 0
    assert main(["--peers", "20", "--seed", "1", "--calls", "1"]) == 0
    assert "relayed" in capsys.readouterr().out


@pytest.mark.parametrize("words", ["--peers -4", "--peers 1", "--peers 20 --calls 20", "--field 3"])
def test_impossible_networks_are_refused(words: str) -> None:
    with pytest.raises(BadInput, match="At least 20 peers"):
        main(words.split())
