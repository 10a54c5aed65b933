"""Regions of a vector in different codecs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.base.problems import RemoteProblem
from core.codecs.adaptive import SMALL_NUMEL_MAX, Adaptive
from core.codecs.registry import CODECS

LARGE = SMALL_NUMEL_MAX + 1
LAYOUT = [7, LARGE, 0, 30, SMALL_NUMEL_MAX, LARGE, LARGE + 5, 1]
ENDS = np.cumsum(LAYOUT)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, int(ENDS[-1])), st.integers(0, 150_000), st.integers(0, 2**32 - 1))
def test_each_tensor_is_sent_as_its_size_demands(start: int, numel: int, seed: int) -> None:
    """Against one number at a time: which tensor it is of, and what fp16 alone would make of it."""
    codec = Adaptive(LAYOUT)
    numel = min(numel, int(ENDS[-1]) - start)
    x = np.random.default_rng(seed).standard_normal(numel, dtype=np.float32)
    payload = codec.encode(x, start)
    assert payload.nbytes == codec.max_bytes(numel, start)
    out = np.empty_like(x)
    codec.decode_into(payload, out, start)
    tensor = np.searchsorted(ENDS, np.arange(start, start + numel), side="right")
    small = np.array(LAYOUT)[tensor] <= SMALL_NUMEL_MAX
    halves = np.empty_like(x)
    CODECS["fp16"].decode_into(CODECS["fp16"].encode(x), halves)
    assert np.array_equal(out[small], halves[small])
    assert np.all(np.abs(out - x)[~small] <= np.abs(x).max(initial=0) / 253)
    assert np.sum(out[~small] != halves[~small]) >= 0.5 * np.sum(~small)
    assert payload.nbytes <= 2 * small.sum() + 1.004 * (~small).sum() + 4 * 8


def test_our_own_misuse_raises() -> None:
    codec = Adaptive([10, 20])
    with pytest.raises(ValueError, match="vector of 30"):
        codec.encode(np.zeros(21, dtype=np.float32), 10)
    with pytest.raises(ValueError, match="sizes"):
        Adaptive([])
    with pytest.raises(ValueError, match="sizes"):
        Adaptive([3, -1])
    with pytest.raises(RemoteProblem):
        codec.decode_into(memoryview(bytes(41)), np.zeros(20, dtype=np.float32), 10)
