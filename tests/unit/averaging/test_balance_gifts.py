import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.averaging.allreduce.share_map import gives_chunk

ROUNDS = st.binary(min_size=0, max_size=32)


@given(ROUNDS, st.integers(0, 255), st.integers(0, 1 << 24), st.integers(0, 256))
def test_member_gives_exactly_its_gift_of_256_consecutive_chunks(round_id, member, first, gift):
    assert sum(gives_chunk(round_id, member, first + k, gift) for k in range(256)) == gift


@given(ROUNDS, st.integers(0, 255), st.integers(1, 200), st.integers(0, 256))
def test_a_short_run_is_spread_evenly(round_id, member, length, gift):
    given_chunks = sum(gives_chunk(round_id, member, k, gift) for k in range(length))
    assert abs(given_chunks - length * gift / 256) <= 4


def test_whole_gifts_are_whole_and_no_gift_is_none():
    for chunk in range(1000):
        assert gives_chunk(b"r", 3, chunk, 256)
        assert not gives_chunk(b"r", 3, chunk, 0)


def test_over_the_rounds_every_chunk_gets_its_turn():
    chance = random.Random(5)
    rounds = [chance.randbytes(32) for _ in range(512)]
    for chunk in range(40):
        turns = sum(gives_chunk(round_id, 2, chunk, 64) for round_id in rounds)
        assert turns / 512 == pytest.approx(0.25, abs=0.08)


@pytest.mark.parametrize("gift", [32, 64, 100, 200])
def test_members_with_equal_gifts_leave_no_chunk_without_givers(gift):
    members = 16
    for chunk in range(256):
        givers = sum(gives_chunk(b"round", member, chunk, gift) for member in range(members))
        assert abs(givers - members * gift / 256) <= 2.5
