import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.averaging.allreduce.share_map import gives_chunk

EPOCHS = st.integers(0, 1 << 40)


@given(EPOCHS, st.integers(0, 255), st.integers(0, 1 << 24), st.integers(0, 256))
def test_member_gives_exactly_its_portion_of_256_consecutive_chunks(epoch, member, first, portion):
    assert sum(gives_chunk(epoch, member, first + k, portion) for k in range(256)) == portion


@given(EPOCHS, st.integers(0, 255), st.integers(1, 200), st.integers(0, 256))
def test_a_short_run_is_spread_evenly(epoch, member, length, portion):
    given_chunks = sum(gives_chunk(epoch, member, k, portion) for k in range(length))
    assert abs(given_chunks - length * portion / 256) <= 4


def test_whole_portions_are_whole_and_no_portion_is_none():
    for chunk in range(1000):
        assert gives_chunk(7, 3, chunk, 256)
        assert not gives_chunk(7, 3, chunk, 0)


@given(st.integers(0, 1 << 40), st.integers(0, 255), st.integers(1, 256))
def test_every_chunk_gets_its_turn_before_long(chunk, member, portion):
    """Never later than after 2.7 times the mean time between two turns, and exactly `portion` times in 256 epochs."""
    turns = [epoch for epoch in range(512) if gives_chunk(epoch, member, chunk, portion)]
    assert len(turns) == 2 * portion
    assert max(later - earlier for earlier, later in itertools.pairwise(turns)) <= max(2, 2.7 * 256 / portion)


@pytest.mark.parametrize("portion", [32, 64, 100, 200])
def test_members_with_equal_portions_leave_no_chunk_without_givers(portion):
    members = 16
    for chunk in range(256):
        givers = sum(gives_chunk(5, member, chunk, portion) for member in range(members))
        assert abs(givers - members * portion / 256) <= 2.5
