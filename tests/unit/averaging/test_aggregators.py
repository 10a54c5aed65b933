"""The weighted mean, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.averaging.aggregators import AGGREGATORS


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=8), st.integers(0, 2**32 - 1))
def test_weighted_mean_matches_float64(weights: list[float], seed: int) -> None:
    values = np.random.default_rng(seed).standard_normal((len(weights), 33)).astype(np.float32)
    mean = AGGREGATORS["mean"](33)
    scratch = np.empty(33, dtype=np.float32)
    for row, weight in zip(values, weights, strict=True):
        assert mean.add(row, weight, scratch)
    expected = np.average(values.astype(np.float64), axis=0, weights=weights)
    np.testing.assert_allclose(mean.finish(), expected, atol=3e-6, rtol=0)


def test_nothing_taken_is_zero() -> None:
    assert not AGGREGATORS["mean"](5).finish().any()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_left_out(bad: float) -> None:
    mean = AGGREGATORS["mean"](3)
    scratch = np.empty(3, dtype=np.float32)
    assert mean.add(np.ones(3, dtype=np.float32), 0.5, scratch)
    assert not mean.add(np.array([1, bad, 1], dtype=np.float32), 0.5, scratch)
    assert mean.finish().tolist() == [1, 1, 1]
