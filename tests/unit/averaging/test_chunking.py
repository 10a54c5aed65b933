"""The length of chunks follows the round."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.averaging.chunking import BLOCK_NUMEL, chunk_numel_for


@pytest.mark.parametrize(
    ("numel", "members", "expected"),
    [(10_000_000, 4, 65_536), (10_000_000, 8, 65_536), (1_000_000, 8, 8192), (4_500_000, 64, 4096), (100, 3, 256)],
)
def test_known_rounds(numel: int, members: int, expected: int) -> None:
    assert chunk_numel_for(numel, members, 65_536) == expected


@given(st.integers(1, 10**9), st.integers(1, 256), st.integers(256, 262_144))
def test_within_its_bounds(numel: int, members: int, ceiling: int) -> None:
    chunk = chunk_numel_for(numel, members, ceiling)
    assert 1 <= chunk <= ceiling
    if BLOCK_NUMEL <= chunk < ceiling:
        assert chunk % BLOCK_NUMEL == 0
        assert 10 * members <= -(-numel // chunk) <= 24 * members
