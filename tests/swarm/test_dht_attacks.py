"""Attacks on the DHT with a fifth of the peers hostile: each defence holds, and its absence is noticed.

`python -m tests.sim attacks` prints the same for larger swarms.
"""

import json

import pytest

from core.base.problems import BadInput
from tests.sim import attacks
from tests.sim.attacks.flood import flood
from tests.sim.attacks.hostile_dht import Scale
from tests.sim.attacks.poison import accomplices, ghosts, private_addresses
from tests.sim.attacks.records import forgery, promises, replay, stuffing
from tests.sim.attacks.sybil import eclipse, late_eclipse, sybil

SCALE = Scale(peers=60, seed=1, lookups=40)
LARGE = Scale(peers=100, seed=1, lookups=60)
"""Where few lookups of few peers tell too little."""


@pytest.mark.parametrize(
    ("attack", "scale", "least", "most"),
    [
        (sybil, SCALE, 0.95, 0.8),
        (eclipse, SCALE, 0.95, 0.75),
        pytest.param(private_addresses, SCALE, 0.95, 0.6, marks=pytest.mark.long),
        pytest.param(ghosts, SCALE, 0.75, 0.6, marks=pytest.mark.long),
        (accomplices, SCALE, 0.95, 1.0),  # harmless even with one holder: a walk goes on past those who name each other
        pytest.param(replay, LARGE, 0.97, 0.7, marks=pytest.mark.long),
        (forgery, SCALE, 0.97, 0.1),
        (stuffing, LARGE, 0.97, 0.6),
        (flood, SCALE, 0.95, 0.4),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_lookups_succeed_with_the_defence_and_fail_without(attack, scale, least, most) -> None:
    with_it, without = attack(scale, on=True), attack(scale, on=False)
    assert with_it.succeeded >= least, (with_it, without)
    assert without.succeeded <= most, (with_it, without)


@pytest.mark.long
def test_values_stored_before_an_eclipse_are_found_on_disjoint_paths() -> None:
    with_it, without = late_eclipse(LARGE, on=True), late_eclipse(LARGE, on=False)
    assert with_it.succeeded >= 0.97
    assert without.succeeded < with_it.succeeded


def test_claims_of_missing_records_neither_end_nor_delay_a_read() -> None:
    outcome = promises(SCALE, on=True)
    assert outcome.succeeded >= 0.97
    assert outcome.harm < 5.0


def test_one_seed_repeats_an_attack() -> None:
    small = Scale(peers=40, lookups=10)
    assert sybil(small, on=False) == sybil(small, on=False)


def test_the_program_prints_a_table_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--peers", "40", "--lookups", "10", "--attack", "forgery"]
    assert attacks.main(small) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert "forged records" in lines[1]
    assert attacks.main([*small, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [one["on"] for one in said] == [True, False]
    assert said[0]["succeeded"] > said[1]["succeeded"]
    assert said[0]["scale"]["peers"] == 40


def test_the_program_refuses_what_it_cannot_run() -> None:
    with pytest.raises(BadInput, match="share of hostile peers"):
        attacks.main(["--hostile", "1.5"])
