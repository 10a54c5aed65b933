import json

import numpy as np
import pytest

from core.averaging.balance.portions import best_portions
from core.averaging.balance.traffic import fleet
from tests.bench.plan import exact as plan_exact
from tests.bench.plan import fleets as plan_fleets
from tests.bench.plan import plan
from tests.bench.program import parser
from tests.unit.averaging.balance_reference import free_parts_steps, pairwise_seconds


@pytest.mark.parametrize("seed", range(4))
def test_its_references_agree_with_the_pairwise_program(seed):
    chance = np.random.default_rng(seed)
    lines, limits = plan_fleets.homes(chance, 5), plan_fleets.limits(chance, 5)
    work = plan_fleets.batch(lines, numel=18_000_000, compute_s=None)
    exact = pairwise_seconds(lines, work, limits=limits)
    assert plan_exact.shares_seconds(lines, work, limits) == pytest.approx(exact, rel=1e-4)


@pytest.mark.parametrize("overlaps", [True, False])
def test_its_bound_of_partial_portions_agrees_with_another(overlaps):
    lines = plan_fleets.homes(np.random.default_rng(3), 4)
    work = plan_fleets.batch(lines, numel=18_000_000, compute_s=9.0, overlaps=overlaps)
    precision = 1e-4 if overlaps else 1e-2  # its times are 5 % apart
    assert plan_exact.free_parts_steps(lines, work) == pytest.approx(free_parts_steps(lines, work), rel=precision)


def test_the_known_fleets_take_what_is_known():
    for lines, work, expected_s in plan_fleets.known().values():
        assert best_portions(fleet(lines, work)).seconds == pytest.approx(expected_s, rel=0.005)


@pytest.mark.long
def test_it_measures_and_says_so(capsys):
    options = ["plan", "--peers", "8", "--repeats", "2"]
    args = parser().parse_args([*options, "--json"])
    assert plan.run(args) == 0
    report = json.loads(capsys.readouterr().out)
    assert [one["peers"] for one in report["solved"]] == [4, 8] * 4
    assert all(abs(one["gap"]) < 1e-6 for one in report["solved"] if one["gap"] is not None)
    assert all(one["partial"] >= 0.99 * one["whole_givers"] for one in report["portions"])
    assert [one["overlaps"] for one in report["portions"]] == [True, False] * 4
    assert plan.run(parser().parse_args(options)) == 0
    assert "home8: 12.80 s" in capsys.readouterr().out
