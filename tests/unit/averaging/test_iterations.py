"""The best size of a group, against closed forms, exact fractions and chance."""

import math
from fractions import Fraction

import numpy as np
import pytest

from core.averaging.grid.layout import FailureRate, best_stages, slowest
from core.averaging.grid.plans import Holding, round_outcome
from tests.bench.averaging.groups import barrier, best_group, independent, stages_for
from tests.unit.averaging.pump import make_plan

RATES = (1e-4, 1e-3, 5e-3, 1e-2, 5e-2, 0.1, 0.2)
FIGURE_8 = {
    16: (16, 16, 16, 16, 16, 4, 4),
    64: (64, 64, 64, 64, 8, 4, 4),
    128: (128, 128, 128, 12, 12, 6, 3),
    256: (256, 256, 16, 16, 7, 4, 4),
    512: (512, 512, 23, 23, 8, 5, 3),
    1024: (1024, 32, 32, 32, 11, 6, 4),
}
"""Worked out apart from this program, in the independent reading."""


@pytest.mark.parametrize("peers", FIGURE_8)
def test_the_table_of_figure_8(peers: int) -> None:
    assert tuple(best_group(peers, rate, reading=independent) for rate in RATES) == FIGURE_8[peers]


@pytest.mark.parametrize("reading", [independent, barrier])
def test_what_the_paper_says_of_it(reading) -> None:
    assert all(best_group(peers, 1e-3, reading=reading) == peers for peers in range(2, 129))
    assert all(best_group(peers, 0.5, reading=reading) == 2 for peers in (4, 16, 100, 256))
    assert all(best_group(peers, 0.0, reading=reading) == peers for peers in (2, 16, 1024))


def test_the_readings_agree_for_one_group() -> None:
    for peers in (2, 7, 64):
        for rate in (0.0, 1e-3, 0.1):
            expected = 1 / (1 - rate) ** peers
            assert independent(peers, group=peers, failure_rate=rate) == pytest.approx(expected, rel=1e-12)
            assert barrier(peers, group=peers, failure_rate=rate) == pytest.approx(expected, rel=1e-6)


def exact_slowest(groups: int, q: Fraction) -> Fraction:
    """By inclusion and exclusion."""
    return sum(
        (Fraction((-1) ** (j + 1) * math.comb(groups, j)) / (1 - (1 - q) ** j) for j in range(1, groups + 1)),
        Fraction(0),
    )


@pytest.mark.parametrize("groups", [1, 2, 3, 4, 7, 30])
@pytest.mark.parametrize(
    ("q", "error"),
    [((1, 2), 1e-3), ((4, 5), 0.02), ((9, 10), 0.06), ((1, 10), 1e-6), ((1, 50), 1e-9), ((1, 1000), 1e-9)],
)
def test_the_slowest_of_several_groups(groups: int, q: tuple[int, int], error: float) -> None:
    assert slowest(groups, q[0] / q[1]) == pytest.approx(float(exact_slowest(groups, Fraction(*q))), rel=error)


def test_the_ends() -> None:
    assert slowest(5, 1.0) == 1.0
    assert slowest(5, 0.0) == math.inf
    assert barrier(1024, group=1024, failure_rate=0.9) == math.inf == independent(4096, group=4096, failure_rate=0.9)
    assert slowest(20_000, 0.5) == pytest.approx(slowest(10_000, 0.5) + 1, rel=1e-3)
    assert slowest(20_000, 1e-6) == pytest.approx(slowest(10_000, 1e-6) + (math.log(2) - 1 / 40_000) / 1e-6, rel=1e-6)


@pytest.mark.parametrize(("peers", "group", "rate"), [(16, 4, 0.1), (64, 8, 0.05), (81, 3, 0.2)])
def test_the_barrier_against_chance(peers: int, group: int, rate: float) -> None:
    random = np.random.default_rng(1)
    stages, trials = stages_for(peers, group), 20_000
    tries = random.geometric((1 - rate) ** group, size=(trials, stages, peers // group))
    totals = tries.max(axis=2).sum(axis=1)
    error = totals.std() / math.sqrt(trials)
    assert abs(totals.mean() - barrier(peers, group=group, failure_rate=rate)) < 4 * error


@pytest.mark.parametrize(
    ("peers", "group", "stages"),
    [(2, 2, 1), (3, 2, 2), (4, 2, 2), (128, 11, 3), (128, 12, 2), (1, 2, 1), (1000, 10, 3)],
)
def test_stages(peers: int, group: int, stages: int) -> None:
    assert stages_for(peers, group) == stages


def test_a_plan_has_one_group_unless_peers_fail_often() -> None:
    assert {best_stages(peers, 1e-3) for peers in range(1, 257)} == {1}
    assert {best_stages(peers, 0.3) for peers in (1, 2, 3)} == {1}
    assert best_stages(16, 0.1) == best_stages(64, 0.05) == best_stages(256, 0.01) == 2
    assert best_stages(256, 0.2) == 4 == best_stages(256, 0.9)
    for peers in range(2, 257):
        stages = [best_stages(peers, rate) for rate in (0.0, 1e-3, 1e-2, 0.05, 0.1, 0.2)]
        assert stages == sorted(stages)


@pytest.mark.parametrize("peers", [16, 64, 256])
def test_a_grid_begins_at_the_rate_that_is_stated(peers: int) -> None:
    least = {16: 0.092, 64: 0.021, 256: 0.005}[peers]
    assert best_stages(peers, 0.97 * least) == 1 < best_stages(peers, 1.03 * least)


def test_groups_of_one_are_refused() -> None:
    with pytest.raises(ValueError, match="groups of 1"):
        stages_for(5, 1)


PLAN = make_plan([1] * 16, 64)


def see(rate: FailureRate, failed: int) -> None:
    """A round of 16, of which some lack everything."""
    rate.finished(PLAN, round_outcome(PLAN, Holding(bytes(32), tuple((m, PLAN.chunk_total) for m in range(failed)))))


def test_the_rate_follows_what_happens() -> None:
    rate = FailureRate()
    assert rate.value == 0
    random = np.random.default_rng(2)
    for _ in range(200):
        see(rate, int(random.binomial(16, 0.1)))
    assert rate.value == pytest.approx(0.1, rel=0.35)
    for _ in range(300):
        see(rate, 0)
    assert rate.value < 2e-3


def test_one_failure_does_not_change_everything() -> None:
    rate = FailureRate()
    see(rate, 1)
    assert 1e-3 < rate.value < 0.02
    assert best_stages(16, rate.value) == 1
