"""What every aggregator keeps to; a new one is tested by its line in the registry."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from core.averaging.aggregators import AGGREGATORS, TrimmedMean, all_finite

NUMEL = 33
names = pytest.mark.parametrize("name", sorted(AGGREGATORS))
weight_lists = st.lists(st.integers(1, 100), min_size=1, max_size=12)
seeds = st.integers(0, 2**32 - 1)


def decoded(rows: NDArray[np.float32]) -> Iterator[NDArray[np.float32]]:
    """Parts that are decoded into the same memory one after the other, as in a round."""
    scratch = np.empty(rows.shape[1], dtype=np.float32)
    for row in rows:
        scratch[:] = row
        yield scratch


def aggregated(name: str, rows: NDArray[np.float32], weights: list[float] | None = None) -> NDArray[np.float32]:
    out = np.full(rows.shape[1], np.nan, dtype=np.float32)
    weights = weights or [1.0] * len(rows)
    AGGREGATORS[name]().aggregate([weight / sum(weights) for weight in weights], decoded(rows), out)
    return out


def drawn(count: int, seed: int) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((count, NUMEL)).astype(np.float32)


@names
@given(weights=weight_lists, seed=seeds)
def test_the_result_lies_between_the_parts(name: str, weights: list[float], seed: int) -> None:
    rows = drawn(len(weights), seed)
    found = aggregated(name, rows, weights)
    assert np.all(found >= rows.min(axis=0) - 1e-5)
    assert np.all(found <= rows.max(axis=0) + 1e-5)


@names
@given(weights=weight_lists, seed=seeds)
def test_equal_parts_become_themselves(name: str, weights: list[float], seed: int) -> None:
    [row] = drawn(1, seed)
    found = aggregated(name, np.tile(row, (len(weights), 1)), weights)
    np.testing.assert_allclose(found, row, rtol=1e-5, atol=1e-7)


@names
@given(weights=weight_lists, seed=seeds)
def test_the_same_parts_give_the_same_bits(name: str, weights: list[float], seed: int) -> None:
    rows = drawn(len(weights), seed)
    assert aggregated(name, rows, weights).tobytes() == aggregated(name, rows, weights).tobytes()


@names
def test_a_part_that_is_no_number_raises_nothing(name: str) -> None:
    rows = drawn(5, 1)
    rows[2] = np.nan
    rows[3] = np.inf
    aggregated(name, rows)


@given(weights=weight_lists, seed=seeds)
def test_weighted_mean_matches_numpy_in_float64(weights: list[float], seed: int) -> None:
    rows = drawn(len(weights), seed)
    expected = np.average(rows.astype(np.float64), axis=0, weights=weights)
    np.testing.assert_allclose(aggregated("mean", rows, weights), expected, atol=3e-6, rtol=0)


@given(count=st.integers(1, 20), trim=st.floats(0, 0.49), seed=seeds)
def test_trimmed_mean_matches_scipy_with_equal_weights(count: int, trim: float, seed: int) -> None:
    from scipy import stats

    rows = drawn(count, seed)
    out = np.empty(NUMEL, dtype=np.float32)
    TrimmedMean(trim).aggregate([1.0 / count] * count, decoded(rows), out)
    np.testing.assert_allclose(out, stats.trim_mean(rows.astype(np.float64), trim, axis=0), atol=3e-6, rtol=0)


@given(honest=st.integers(5, 20), seed=seeds, sign=st.sampled_from([-1.0, 1.0]))
def test_few_liars_move_a_trimmed_mean_within_the_honest_spread(honest: int, seed: int, sign: float) -> None:
    rows = drawn(honest, seed)
    liars = np.full((honest // 4, NUMEL), sign * 1e30, dtype=np.float32)  # a fifth of all
    found = aggregated("trimmed_mean", np.vstack([rows, liars]))
    assert np.all(found >= rows.min(axis=0) - 1e-5)
    assert np.all(found <= rows.max(axis=0) + 1e-5)


def test_a_trimmed_mean_refuses_to_leave_out_half() -> None:
    with pytest.raises(ValueError, match="leaves out"):
        TrimmedMean(0.5)


def test_large_numbers_are_finite() -> None:
    assert all_finite(np.full(10, 3e38, dtype=np.float32))
    assert not all_finite(np.array([1, np.nan], dtype=np.float32))
    assert not all_finite(np.array([1, -np.inf], dtype=np.float32))
