"""The paper's experiments: their fleets, their arithmetic, and a small run of each."""

import json

import pytest

from tests.sim.program import main as simulate
from tests.sim.rounds import paper
from tests.sim.rounds.paper import Strategy, averaged, fitted, line


def test_the_strategies_take_what_the_formulas_say() -> None:
    numel, half = 640_000, 2
    lines = [line(8)] * 4  # 1 MB/s
    seconds = {s: averaged(lines, numel, s, chunk=4096).seconds for s in Strategy}
    vector_s = numel * half / 1e6
    assert seconds[Strategy.ALL_REDUCE] == pytest.approx(2 * 3 / 4 * vector_s, rel=0.06)
    assert seconds[Strategy.ADAPTIVE] == pytest.approx(seconds[Strategy.ALL_REDUCE], rel=0.02)
    assert seconds[Strategy.PARAMETER_SERVER] == pytest.approx(3 * vector_s, rel=0.06)


def test_the_fleets_are_the_papers() -> None:
    assert [len(lines) for lines in paper.TABLE1.values()] == [8, 16, 24, 17]
    speeds = sorted(round(one.up_bytes_per_s / paper.MBIT) for one in paper.HETEROGENEOUS)
    assert speeds == [50] * 4 + [100] * 8 + [200] * 4
    assert all(not helper.gives for helper in paper.HELPERS)
    for nodes in (2, 16, 100):
        fleet = paper.figure5_fleet(nodes, fast=False)
        assert len(fleet) == nodes
        mean = sum(one.up_bytes_per_s for one in fleet) / nodes / paper.MBIT
        assert mean == pytest.approx(112.5, rel=0.35)


def test_the_fitted_models_give_back_the_papers_two_ratios() -> None:
    fast_s, equal_s, balanced_s = 0.02, 10.7, 5.7
    alone, overlapping = fitted(fast_s, equal_s, balanced_s)
    assert alone.step_s(equal_s) / alone.step_s(fast_s) == pytest.approx(2.5)
    assert overlapping.step_s(equal_s) / overlapping.step_s(fast_s) == pytest.approx(2.5)
    assert overlapping.step_s(equal_s) / overlapping.step_s(balanced_s) == pytest.approx(1.47)
    assert alone.delayed_s(equal_s) == equal_s
    assert alone.step_s(equal_s, workers=32) == pytest.approx(alone.compute_s / 2 + equal_s)


def test_nodes_beyond_one_group_average_in_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paper, "GROUP", 8)
    monkeypatch.setattr(paper, "ALBERT_NUMEL", 40_000)
    one, two = (paper.figure5_row(nodes, fast=False) for nodes in (8, 12))
    assert (one.stages, two.stages) == (1, 2)
    assert two.averaging_s > two.bound_s > 0


@pytest.mark.long
def test_the_program_tells_all_parts(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paper, "ALBERT_NUMEL", 30_000)
    monkeypatch.setattr(paper, "RESNET50_NUMEL", 30_000)
    assert simulate(["paper", "--rounds", "1", "--nodes", "4", "--json"]) == 0
    said = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    events = [row["event"] for row in said]
    assert events.count("table1") == len(paper.TABLE1)
    assert events.count("figure4") == paper.FIGURE4_ROWS
    assert events.count("figure5") == 2
    first, equal = (
        row for row in said if row["event"] == "figure4" and row["setup"] in {"high bandwidth", "heterogeneous"}
    )
    assert first["speed"]["no_overlap"] == 1.0
    assert equal["speed"]["no_overlap"] == pytest.approx(0.4, rel=0.01)
    assert equal["paper_speed"] == 0.4
    assert simulate(["paper", "--rounds", "1", "--only", "table1"]) == 0
    assert "times as fast as all-reduce; the paper: 1.9 times faster" in capsys.readouterr().out
