import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.averaging.allreduce.share_map import gives_chunk

EPOCHS = st.integers(0, 1 << 40)


@given(EPOCHS, st.integers(0, 255), st.integers(0, 1 << 24), st.integers(0, 256))
def test_member_gives_exactly_its_gift_of_256_consecutive_chunks(epoch, member, first, gift):
    assert sum(gives_chunk(epoch, member, first + k, gift) for k in range(256)) == gift


@given(EPOCHS, st.integers(0, 255), st.integers(1, 200), st.integers(0, 256))
def test_a_short_run_is_spread_evenly(epoch, member, length, gift):
    given_chunks = sum(gives_chunk(epoch, member, k, gift) for k in range(length))
    assert abs(given_chunks - length * gift / 256) <= 4


def test_whole_gifts_are_whole_and_no_gift_is_none():
    for chunk in range(1000):
        assert gives_chunk(7, 3, chunk, 256)
        assert not gives_chunk(7, 3, chunk, 0)


@given(st.integers(0, 1 << 40), st.integers(0, 255), st.integers(1, 256))
def test_every_chunk_gets_its_turn_before_long(chunk, member, gift):
    """Never later than after 2.7 times the mean time between two turns, and exactly `gift` times in 256 epochs."""
    turns = [epoch for epoch in range(512) if gives_chunk(epoch, member, chunk, gift)]
    assert len(turns) == 2 * gift
    assert max(later - earlier for earlier, later in itertools.pairwise(turns)) <= max(2, 2.7 * 256 / gift)


@pytest.mark.parametrize("gift", [32, 64, 100, 200])
def test_members_with_equal_gifts_leave_no_chunk_without_givers(gift):
    members = 16
    for chunk in range(256):
        givers = sum(gives_chunk(5, member, chunk, gift) for member in range(members))
        assert abs(givers - members * gift / 256) <= 2.5
