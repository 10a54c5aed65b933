"""`python -m tests.sim rounds` and what it counts."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from core.averaging.aggregators import Vector, WeightedMean
from core.averaging.balance.portions import best_portions
from core.averaging.balance.traffic import Work, fleet
from core.base.problems import BadInput
from tests.sim import rounds_program
from tests.sim.program import main as simulate
from tests.sim.record import VerdictRecord
from tests.sim.rounds.deaths import death_round, drawn_portions, drawn_round
from tests.sim.rounds.fleet_plan import RoundTask
from tests.sim.rounds.fleets import drawn_fleet, fleet_round
from tests.sim.rounds.summaries import death_report, death_summary, fleet_summary, spread

SMALL = ["--numel", "40000", "--chunk", "512"]


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_fleets_are_repeatable_and_can_average() -> None:
    sizes = set()
    for seed in range(200):
        fleet = drawn_fleet(seed)
        assert fleet == drawn_fleet(seed)
        assert 4 <= len(fleet) <= 64
        assert sum(line.gives for line in fleet) >= 2
        assert any(line.reduces for line in fleet)
        sizes.add(len(fleet))
    assert min(sizes) == 4
    assert max(sizes) > 55
    everybody = [line for seed in range(200) for line in drawn_fleet(seed)]
    assert any(not line.reduces for line in everybody)
    assert any(not line.gives for line in everybody)
    assert any(line.down_bytes_per_s > 5 * line.up_bytes_per_s for line in everybody)


def test_a_fleets_round_is_held_against_the_optimum() -> None:
    verdict = fleet_round(5, RoundTask(numel=40_000, chunk_numel=512))
    best = best_portions(fleet(drawn_fleet(5), Work(numel=40_000, number_bytes=4.0)))
    assert verdict.bound_s == round(best.seconds, 3)
    assert verdict.ratio == pytest.approx(verdict.round_s / best.seconds, rel=0.01)
    assert verdict.ratio >= 1.0
    assert 0.0 < verdict.busy <= 1.0
    assert verdict.finished == verdict.members
    assert verdict.relative_error < 1e-6


def test_rounds_with_deaths_are_as_they_should_be() -> None:
    verdicts = [death_round(seed, share=0.1) for seed in range(6)]
    assert verdicts == [death_round(seed, share=0.1) for seed in range(6)]
    assert [verdict.problem for verdict in verdicts] == [""] * 6
    assert all(verdict.died for verdict in verdicts)
    assert all(verdict.error < 1e-3 for verdict in verdicts)


def test_rounds_with_partial_contributions_pass_their_checks() -> None:
    seeds = [seed for seed in range(40) if drawn_portions(seed, drawn_round(seed)[1])][:5]
    verdicts = [death_round(seed, share=0.1) for seed in seeds]
    assert len(verdicts) == 5
    assert all(verdict.partial and not verdict.problem and verdict.error < 1e-3 for verdict in verdicts)


def test_without_deaths_nothing_is_lost() -> None:
    verdict = death_round(2, share=0.0)
    assert verdict.died == 0
    assert verdict.lost_s == 0.0
    assert verdict.succeeded
    assert verdict.survivors_error == pytest.approx(verdict.error, rel=1e-6)


def test_a_wrong_mean_trips_a_checker(monkeypatch: pytest.MonkeyPatch) -> None:
    aggregate = WeightedMean.aggregate

    def wrong(self: WeightedMean, weights: Sequence[float], parts: Iterable[Vector], out: Vector, *known: Any) -> None:
        aggregate(self, weights, parts, out, *known)
        out *= np.float32(1.01)

    monkeypatch.setattr(WeightedMean, "aggregate", wrong)
    assert "mean" in death_round(3, share=0.1).problem


def test_negative_loss_of_a_death_is_reported_as_zero() -> None:
    won = death_round(2, share=0.1).as_dict() | {"died": 1, "lost_s": -0.01}
    report = death_report(death_summary([won]) | {"wall_s": 1.0})
    assert "A death costs 0.0 s (median), 0.0 s (p95), 0.0 s (most); a crash 0.0 s, a power cut 0.0 s" in report


def test_the_spread_of_numbers() -> None:
    assert spread([]) == {"median": 0.0, "p95": 0.0, "max": 0.0}
    assert spread([3.0, 1.0, 2.0, 4.0]) == {"median": 2.5, "p95": 4.0, "max": 4.0}
    assert spread(list(range(1, 101))) == {"median": 50.5, "p95": 95, "max": 100}


def test_the_summary_counts_what_is_over_the_target_or_wrong() -> None:
    right = {
        "seed": 1, "members": 4, "finished": 4, "same": True, "ratio": 1.01, "relative_error": 1e-7, "messages": 5,
        "bound_s": 1.0, "round_s": 1.01,
    }  # fmt: skip
    found = fleet_summary([right, {**right, "seed": 2, "ratio": 1.2}, {**right, "seed": 3, "finished": 3}])
    assert found["failed"] == [2, 3]
    assert found["wrong"] == 1
    assert found["within_target"] == 1
    assert found["worst"][0]["seed"] == 2
    struck = death_round(0, share=0.1).as_dict()
    calm = death_round(0, share=0.0).as_dict()
    told = death_summary([struck, calm, {**struck, "seed": 9, "problem": "made up", "succeeded": False, "failed": 2}])
    assert told["failed"] == [9]
    assert told["rounds_with_deaths"] == 2
    assert told["succeeded_share"] == 0.5
    assert told["sent_home"] == 2


@pytest.mark.long
def test_the_program_says_how_near_to_their_bounds_fleets_come(capsys: pytest.CaptureFixture[str]) -> None:
    code = simulate(["rounds", "--fleets", "3", "--seed", "11", *SMALL, "--json"])
    *fleets, summary = lines(capsys.readouterr().out)
    assert [fleet["seed"] for fleet in fleets] == [11, 12, 13]
    assert summary["fleets"] == 3
    assert summary["ratio"]["max"] == pytest.approx(max(fleet["ratio"] for fleet in fleets), rel=1e-3)
    assert code == (1 if summary["failed"] else 0)
    simulate(["rounds", "--fleets", "3", "--seed", "11", *SMALL])
    assert "3 fleets" in capsys.readouterr().out


def test_a_record_goes_on_where_it_was_interrupted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    command = ["rounds", "--deaths", "0.1", "--record", str(record), "--json"]
    assert simulate([*command, "--rounds", "2"]) == 0
    (first,) = lines(capsys.readouterr().out)
    text = record.read_text()
    record.write_text(text + '{"seed": 2, "cut o')
    assert simulate([*command, "--rounds", "3"]) == 0
    (second,) = lines(capsys.readouterr().out)
    assert (first["rounds"], second["rounds"]) == (2, 3)
    assert record.read_text().startswith(text)
    assert [verdict["seed"] for verdict in lines(record.read_text())[1:]] == [0, 1, 2]


def test_a_record_of_something_else_is_refused(tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    VerdictRecord(record, {"kind": "fleets"}).close()
    with pytest.raises(BadInput, match="other rounds"):
        VerdictRecord(record, {"kind": "deaths"})
    record.write_text("no record\n")
    with pytest.raises(BadInput, match="no record"):
        VerdictRecord(record, {"kind": "deaths"})


def test_failing_round_is_named_with_its_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    verdict = death_round(4, share=0.1).as_dict()
    monkeypatch.setattr(
        rounds_program.deaths, "death_round",
        lambda seed, share: SimpleNamespace(as_dict=lambda: {**verdict, "seed": seed, "problem": "made to fail"}),
    )  # fmt: skip
    assert simulate(["rounds", "--deaths", "0.1", "--rounds", "1", "--seed", "4"]) == 1
    said = capsys.readouterr().out
    assert "python -m tests.sim rounds --deaths 0.1 --rounds 1 --seed 4" in said
    assert "1 failed: 4." in said


def test_several_processes_find_what_one_finds() -> None:
    args = SimpleNamespace(deaths=0.1)
    elsewhere = rounds_program.in_other_process(args, 7, 2)
    assert elsewhere == [death_round(seed, share=0.1).as_dict() for seed in (7, 8)]


def test_seeds_are_handed_out_in_runs_of_neighbours() -> None:
    most = 7
    seeds = [*range(3), *range(5, 6 + 2 * most)]
    runs = list(rounds_program.neighbouring_runs(seeds, most))
    assert [seed for first, count in runs for seed in range(first, first + count)] == seeds
    assert max(count for _, count in runs) == most


@pytest.mark.parametrize("words", [["--fleets", "2", "--deaths", "0.1"], ["--codec", "morse"]])
def test_options_that_make_no_sense_are_refused(words: list[str]) -> None:
    assert simulate(["rounds", *words]) == 2
