import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.averaging.balance.portions import best_portions, covers, divided, line_steps
from core.averaging.balance.solver import round_seconds
from core.averaging.balance.traffic import Line, Work, fleet
from tests.bench.plan import exact as plan_exact
from tests.bench.plan.exact import best_givers
from tests.unit.averaging.balance_reference import free_parts_steps, pairwise_seconds
from tests.unit.averaging.test_balance import MEGA, line

HOMES = ((100, 40), (50, 10), (20, 5), (16, 1))


def homes(seed: int, size: int) -> list[Line]:
    chance = np.random.default_rng(seed)
    return [
        line(
            HOMES[kind][0] * chance.lognormal(0, 0.3),
            HOMES[kind][1] * chance.lognormal(0, 0.3),
            samples_per_s=float(chance.lognormal(3, 1)),
            reduces=bool(chance.random() < 0.8),
        )
        for kind in chance.integers(0, 4, size)
    ]


def work(lines: list[Line], batch_s: float, *, overlaps: bool = True) -> Work:
    """A target batch that all compute in so many seconds."""
    target = batch_s * sum(one.samples_per_s for one in lines)
    return Work(numel=18_000_000, number_bytes=1, target_samples=max(1, int(target)), overlaps=overlaps)


def steps(lines, task, portions, weights):
    given = sum(one.samples_per_s * portion for one, portion in zip(lines, portions, strict=True)) / 256
    times = task.target_samples / given, round_seconds(fleet(lines, task), chunks=weights, portions=portions)
    return 1 / (max(times) if task.overlaps else sum(times))


def test_without_a_target_batch_everybody_gives_all():
    lines = [line(1000, samples_per_s=10), line(1, samples_per_s=0.01), line(5, gives=False, samples_per_s=9)]
    assert best_portions(fleet(lines, Work(numel=100, number_bytes=4))).portions == (256, 256, 0)


@pytest.mark.parametrize("overlaps", [True, False])
def test_where_computing_takes_longer_everybody_gives_all(overlaps):
    lines = homes(1, 8)
    assert best_portions(fleet(lines, work(lines, 1e6, overlaps=overlaps))).portions == (256,) * 8


def test_a_slow_peer_with_little_to_give_only_assists():
    lines = [*[line(100, samples_per_s=100)] * 3, line(100, 1, samples_per_s=1)]
    task = Work(numel=1_000_000, number_bytes=4, target_samples=1000)
    assert best_givers(fleet(lines, task)).gives.tolist() == [1, 1, 1, 0]
    found = best_portions(fleet(lines, task))
    assert found.portions[:3] == (256,) * 3
    assert 0 < found.portions[3] < 64
    assert found.seconds <= 1.01 * 1000 / 300


@pytest.mark.parametrize("seed", range(6))
def test_whole_givers_are_chosen_as_the_mixed_integer_program_chooses(seed):
    lines = homes(seed, 5)
    task = work(lines, 3.0 + 5 * seed)
    members = fleet(lines, task)
    exact = free_parts_steps(lines, task, whole=True)
    assert best_givers(members).steps_per_s == pytest.approx(exact, rel=1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_choice_of_givers_is_near_the_best_for_larger_groups(seed):
    lines = homes(seed, 12)
    members = fleet(lines, work(lines, 5.0))
    every = np.array(list(itertools.product([0.0, 1.0], repeat=12)))[1:]
    assert best_givers(members).steps_per_s >= 0.99 * line_steps(members, every).max()


@pytest.mark.parametrize(("overlaps", "median"), [(True, 0.99), (False, 0.98)])
def test_partial_portions_are_near_what_free_parts_allow(overlaps, median):
    """The bound lets a member give its own share for nothing, which a portion spread over all shares cannot follow."""
    ratios = []
    for seed, batch_s in itertools.product(range(6), (8.0, 30.0)):
        lines = homes(seed, 6)
        task = work(lines, batch_s, overlaps=overlaps)
        found = best_portions(fleet(lines, task))
        ratios.append(steps(lines, task, found.portions, found.weights) / plan_exact.free_parts_steps(lines, task))
    assert max(ratios) <= 1 + 1e-4
    assert min(ratios) >= 0.85
    assert np.median(ratios) >= median


@pytest.mark.parametrize("seed", range(4))
def test_no_portions_on_a_grid_are_better(seed):
    lines = homes(seed + 20, 3)
    members = fleet(lines, work(lines, 2.0 + 3 * seed))
    grid = np.array([gives for gives in itertools.product(np.linspace(0, 1, 33), repeat=3) if max(gives) == 1.0])
    assert best_portions(members).steps_per_s >= 0.99 * line_steps(members, grid).max()


@pytest.mark.parametrize("batch_s", [2.0, 10.0, 60.0])
def test_synchronous_portions_beat_every_grid_of_portions(batch_s):
    """Each choice of the grid is divided by the pairwise linear program, and timed as T_compute + T_average."""
    lines = homes(31, 3)
    task = work(lines, batch_s, overlaps=False)
    found = best_portions(fleet(lines, task))
    rates = [one.samples_per_s for one in lines]
    least_s = min(
        task.target_samples / np.dot(rates, gives) + pairwise_seconds(lines, task, gives=gives)
        for gives in itertools.product(np.linspace(0, 1, 6), repeat=3)
        if max(gives) == 1.0
    )
    assert 1 / found.steps_per_s <= 1.001 * least_s
    ours_s = task.target_samples / np.dot(rates, found.gives) + pairwise_seconds(lines, task, gives=found.gives)
    assert 1 / found.steps_per_s == pytest.approx(ours_s, rel=1e-4)


@settings(deadline=None, max_examples=25)
@example(947, 7, 1.0, True)
@given(st.integers(0, 1000), st.integers(2, 10), st.floats(0.1, 100), st.booleans())
def test_partial_portions_are_never_worse_than_all_or_nothing(seed, size, batch_s, overlaps):
    lines = homes(seed, size)
    members = fleet(lines, work(lines, batch_s, overlaps=overlaps))
    everybody = divided(members, members.gives)
    found = best_portions(members)
    assert found.steps_per_s >= 0.99 * max(everybody.steps_per_s, best_givers(members).steps_per_s)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 1000), st.integers(2, 8), st.floats(0.1, 100))
def test_every_chunk_has_a_giver_and_equal_portions_gain_nothing(seed, size, batch_s):
    lines = homes(seed, size)
    both = [*lines, *lines]
    task = work(both, batch_s)
    found = best_portions(fleet(both, task))
    assert covers(found.portions)
    one, other = np.array(found.portions[:size]), np.array(found.portions[size:])
    alike = tuple(int(portion) for portion in np.tile((one + other) // 2, 2))
    assert steps(both, task, alike, found.weights) <= 1.01 * steps(both, task, found.portions, found.weights)


def test_a_giver_whose_rate_is_unknown_counts_as_the_slowest():
    lines = [line(100, samples_per_s=50), line(100, samples_per_s=5), line(100)]
    assert fleet(lines, Work(numel=1, number_bytes=1, target_samples=9)).samples.tolist() == [50, 5, 5]


def test_with_pair_limits_portions_fit_them_too():
    lines = homes(3, 8)
    limits = {(0, j): 1.0 * MEGA for j in range(1, 8)} | {(j, 2): 2.0 * MEGA for j in range(8)}
    task = work(lines, 4.0)
    found = best_portions(fleet(lines, task, limits))
    everybody = 1 / divided(fleet(lines, task, limits), np.ones(8)).seconds
    given = sum(one.samples_per_s * portion for one, portion in zip(lines, found.portions, strict=True)) / 256
    assert min(given / task.target_samples, 1 / found.seconds) > everybody
