import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.sim.program import main as simulate
from tests.sim.swarm.checkers import EpochsEnd

SMALL = ["--peers", "2", "--epochs", "1"]


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_worlds_are_reported_line_by_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate(["swarm", *SMALL, "--seeds", "2", "--seed", "5", "--jobs", "1", "--json"]) == 0
    *worlds, summary = lines(capsys.readouterr().out)
    assert [world["seed"] for world in worlds] == [5, 6]
    assert summary["event"] == "done"
    assert summary["worlds"] == 2
    assert summary["failed"] == []


def test_failing_seed_is_named_with_its_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: EpochsEnd, nodes: Any, now: float) -> None:
        if self._swarm.world.seed == 6:
            raise ValueError("made to fail")

    monkeypatch.setattr(EpochsEnd, "looked", fail)
    assert simulate(["swarm", *SMALL, "--seeds", "2", "--seed", "5", "--jobs", "1"]) == 1
    said = capsys.readouterr().out
    assert "Seed 6 failed" in said
    assert "made to fail" in said
    assert "python -m tests.sim swarm --seed 6 --peers 2 --epochs 1" in said
    assert "1 failed: 6." in said


@pytest.mark.long
def test_several_processes_find_what_one_finds(capsys: pytest.CaptureFixture[str]) -> None:
    root = str(Path(__file__).parents[3])
    command = [sys.executable, "-m", "tests.sim", "swarm", *SMALL, "--seeds", "5", "--jobs", "2", "--json"]
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, check=True, text=True)
    *elsewhere, _ = lines(done.stdout)
    simulate(["swarm", *SMALL, "--seeds", "5", "--jobs", "1", "--json"])
    *here, _ = lines(capsys.readouterr().out)
    for world in (*elsewhere, *here):
        del world["node_bytes"]  # the size of an object's dictionary depends on what else the process has made
    assert sorted(elsewhere, key=lambda world: world["seed"]) == here


@pytest.mark.parametrize("name", ["nat", "attacks"])
def test_kinds_with_options_of_their_own_are_given_their_words(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    heard: list[list[str]] = []

    def main(words: list[str]) -> int:
        heard.append(words)
        return 7

    monkeypatch.setattr(f"tests.sim.{name}.program.main", main)
    words = ["--peers", "40", "--json", "-h"]
    assert simulate([name, *words]) == 7
    assert heard == [words]


def test_several_processes_run_small_worlds_each_for_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate(["dht-worlds", "--worlds", "1", "--seed", "8", "--each"]) == 0
    (world,) = lines(capsys.readouterr().out)
    assert world["seed"] == 8
    assert world["ok"]


def test_words_that_mean_nothing_are_refused() -> None:
    for words in (["swarm", "--seeds", "0"], ["dht", "--peers", "3"], ["dht-worlds", "--worlds", "0"], ["foo"]):
        assert simulate([*words]) == 2
