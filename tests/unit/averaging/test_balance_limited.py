import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.averaging.balance.portions import best_portions
from core.averaging.balance.solver import round_seconds, share_chunks
from core.averaging.balance.traffic import Work, fleet
from tests.unit.averaging.balance_reference import pairwise_seconds
from tests.unit.averaging.test_balance import LINES, MEGA, RATES, RAW, WORKS, line

LIMITS = st.dictionaries(
    st.tuples(st.integers(0, 6), st.integers(0, 6)), RATES.map(lambda rate: rate * MEGA / 4), max_size=20
)


@settings(deadline=None, max_examples=60)
@given(LINES, WORKS, LIMITS)
def test_it_is_the_optimum_of_the_pairwise_program(lines, work, limits):
    divided = best_portions(fleet(lines, work, limits))
    exact = pairwise_seconds(lines, work, limits={p: r for p, r in limits.items() if max(p) < len(lines)})
    assert divided.seconds == pytest.approx(exact, rel=1e-4, abs=1e-9)


@settings(deadline=None, max_examples=30)
@given(LINES, WORKS, LIMITS)
def test_limits_never_make_it_faster(lines, work, limits):
    free, limited = best_portions(fleet(lines, work)), best_portions(fleet(lines, work, limits))
    assert limited.seconds >= free.seconds * (1 - 1e-9)


def test_limits_above_what_lines_carry_change_nothing():
    lines = [line(100, 40), line(50, 10), line(20, 5)]
    limits = {(i, j): 1e3 * MEGA for i in range(3) for j in range(3)}
    limited, free = best_portions(fleet(lines, RAW, limits)), best_portions(fleet(lines, RAW))
    assert (limited.weights, limited.portions, limited.seconds) == (free.weights, free.portions, free.seconds)


def test_a_reducer_behind_a_slow_pair_gets_less():
    lines = [line(100)] * 4
    divided = best_portions(fleet(lines, RAW, {(0, 3): 10 * MEGA}))
    weights = np.array(divided.weights) / sum(divided.weights)
    assert weights[3] < 0.2
    assert divided.weights[1] == divided.weights[2]
    assert divided.seconds == pytest.approx(pairwise_seconds(lines, RAW, limits={(0, 3): 10 * MEGA}), rel=1e-6)


def test_members_that_could_change_places_get_equal_weights():
    lines = [line(100, 50)] * 6
    limits = {(i, j): 4 * MEGA for i in (0, 1, 2) for j in (3, 4, 5)}
    weights = best_portions(fleet(lines, RAW, limits)).weights
    assert len(set(weights[:3])) == 1
    assert len(set(weights[3:])) == 1


def test_sixty_four_members_with_limits_everywhere():
    chance = np.random.default_rng(4)
    lines = [line(float(chance.choice([20, 50, 100])), float(chance.choice([5, 10, 40]))) for _ in range(64)]
    limits = {(i, j): float(chance.lognormal(-1, 1)) * MEGA for i in range(64) for j in range(64)}
    divided = best_portions(fleet(lines, RAW, limits))
    other = np.where([one.up_bytes_per_s > 6 * MEGA for one in lines], 1, 0).tolist()
    assert divided.seconds < round_seconds(fleet(lines, RAW, limits), chunks=other, portions=divided.portions)
    chunks = share_chunks(fleet(lines, RAW, limits), divided, total=50_000)
    taken_s = round_seconds(fleet(lines, RAW, limits), chunks=chunks, portions=divided.portions)
    assert taken_s == pytest.approx(divided.seconds, rel=0.01)


def test_a_pair_that_hardly_connects_still_gets_a_division():
    lines = [line(10), line(10), line(10)]
    divided = best_portions(fleet(lines, Work(numel=100, number_bytes=4), {(0, 1): 1.0, (1, 0): 1.0}))
    assert divided.weights[2] > 0.99 * sum(divided.weights)
