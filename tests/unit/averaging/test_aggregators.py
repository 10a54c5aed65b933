"""The weighted mean, and what it says of numbers that are not finite."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.averaging.aggregators import AGGREGATORS, all_finite


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=8), st.integers(0, 2**32 - 1))
def test_weighted_mean_matches_float64(weights: list[float], seed: int) -> None:
    values = np.random.default_rng(seed).standard_normal((len(weights), 33)).astype(np.float32)
    expected = np.average(values.astype(np.float64), axis=0, weights=weights)
    out = np.full(33, np.nan, dtype=np.float32)
    mean = AGGREGATORS["mean"](out)
    for row, weight in zip(values, weights, strict=True):
        mean.add(row, weight / sum(weights))
    assert mean.finish()
    np.testing.assert_allclose(out, expected, atol=3e-6, rtol=0)


def test_nothing_taken_is_zero() -> None:
    out = np.ones(5, dtype=np.float32)
    assert AGGREGATORS["mean"](out).finish()
    assert not out.any()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_told(bad: float) -> None:
    mean = AGGREGATORS["mean"](np.empty(3, dtype=np.float32))
    mean.add(np.ones(3, dtype=np.float32), 0.5)
    mean.add(np.array([1, bad, 1], dtype=np.float32), 0.5)
    assert not mean.finish()


def test_large_numbers_are_finite() -> None:
    assert all_finite(np.full(10, 3e38, dtype=np.float32))
