import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.averaging.allreduce import share_map
from core.averaging.allreduce.share_map import ShareMap, gives_chunk
from core.averaging.commit.reports import is_planned
from core.averaging.messages import Commit
from tests.unit.averaging.pump import make_plan

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


@given(st.integers(1, 700), st.lists(st.integers(0, 256), min_size=2, max_size=4), st.integers(0, 2))
def test_planned_chunks_are_those_that_a_member_gives(chunks: int, portions: list[int], bare: int):
    samples = [int(member != bare) for member in range(len(portions))]
    shares = ShareMap(msgspec.structs.replace(make_plan(samples, 16 * chunks), portions=tuple(portions)))
    numbers = range(shares.chunk_total)
    assert shares.planned == tuple(sum(shares.gives(m, n) for n in numbers) for m in range(len(portions)))


def test_commit_of_anybody_has_no_chunk_looked_at(monkeypatch: pytest.MonkeyPatch):
    """It took 14 s, and 1.6 KB to send, with 256 members that gave a part of 12,208 chunks."""
    shares = ShareMap(msgspec.structs.replace(make_plan([1] * 3, 16 * 2560), portions=(128,) * 3))
    monkeypatch.delattr(share_map, "gives_chunk")
    assert is_planned(shares, Commit(shares.plan.round, (0,) * 3, (), (), (1280,) * 3))
