"""`python -m tests.bench groups`: the tables, and how they are written."""

import json

import pytest

from tests.bench.program import main
from tests.unit.averaging.test_iterations import FIGURE_8, RATES


def test_it_prints_figure_8_in_both_readings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["groups", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    tables = {table["reading"]: table for table in report["tables"]}
    assert set(tables) == {"independent", "barrier"}
    found = {(best["peers"], best["failure_rate"]): best["group"] for best in tables["independent"]["best"]}
    assert found == {(n, p): FIGURE_8[n][column] for n in FIGURE_8 for column, p in enumerate(RATES)}
    for table in tables.values():
        for turn in table["turns"]:
            assert 0 < turn["one_group_up_to"] < turn["pairs_from"] < 0.35
        for best in table["best"]:
            assert best["one_group_iterations"] is None or best["iterations"] <= best["one_group_iterations"]


def test_a_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["groups", "--peers", "8", "16", "--failure-rates", "0.1"]) == 0
    text = capsys.readouterr().out
    assert "reading 'independent'" in text
    assert [line.split()[:2] for line in text.splitlines() if line.split()[:1] in (["8"], ["16"])] == [
        ["8", "8"],
        ["16", "4"],
    ] * 2
