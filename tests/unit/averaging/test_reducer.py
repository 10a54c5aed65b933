"""What a reducer takes, and how much it keeps: whatever its senders do, the window bounds its memory."""

import numpy as np
import pytest

from core.averaging.aggregators.aggregator import WeightedMean
from core.averaging.allreduce.lane import Lane
from core.averaging.allreduce.reducer import Reducer
from core.averaging.allreduce.reducers import REPEATED_MAX, Reducers
from core.averaging.allreduce.share_map import ShareMap
from core.averaging.allreduce.vectors import RoundContext, RoundInput, Vectors
from core.averaging.allreduce.windows import windows_of
from core.averaging.codecs.registry import CODECS
from core.averaging.failure_detector import Timetable
from core.averaging.messages import Part
from core.base.problems import RemoteProblem
from core.base.trace import Trace
from tests.unit.averaging.pump import make_plan

CHUNK = 16
CHUNKS = 12
WINDOW = 3
CHUNK_BYTES = 4 * CHUNK
MEMBERS = 4


def context_of() -> RoundContext:
    """The first of four members, with equal shares."""
    plan = make_plan([1] * MEMBERS, CHUNK * CHUNKS * MEMBERS, chunk_numel=CHUNK)
    shares = ShareMap(plan)
    ones = np.ones(plan.numel, dtype=np.float32)
    vectors = Vectors(shares, 0, RoundInput(ones, np.zeros_like(ones), CODECS["raw"]))
    return RoundContext(shares, 0, vectors, WeightedMean(), Trace())


def reducer() -> tuple[Reducer, RoundContext]:
    context = context_of()
    return Reducer(context, 0, live=context.shares.everybody, window=WINDOW), context


def part(value: float = 1.0, numel: int = CHUNK) -> memoryview:
    return np.full(numel, value, dtype="<f4").view(np.uint8).data


def test_parts_beyond_the_window_are_dropped() -> None:
    receiving, context = reducer()
    for chunk in range(CHUNKS):
        assert receiving.take(1, chunk, part()) == []
    assert receiving.open_chunks == WINDOW
    assert receiving.held_bytes == WINDOW * CHUNK_BYTES
    assert context.trace["averaging.drop.window"] == CHUNKS - WINDOW


def test_window_moves_with_the_first_open_chunk() -> None:
    receiving, context = reducer()
    for member in range(1, MEMBERS):
        receiving.take(member, 0, part())
    assert receiving.open_chunks == 0
    receiving.take(1, WINDOW, part())
    receiving.take(1, WINDOW + 1, part())
    assert receiving.open_chunks == 1
    assert context.trace["averaging.drop.window"] == 1


def test_second_part_of_a_member_is_dropped() -> None:
    receiving, context = reducer()
    receiving.take(1, 0, part(5.0))
    assert receiving.take(1, 0, part(1e9)) == []
    assert context.trace["averaging.drop.duplicate"] == 1
    receiving.take(2, 0, part())
    [reply] = receiving.take(3, 0, part())
    assert np.frombuffer(reply.payload, "<f4").tolist() == [(1 + 5 + 1 + 1) / MEMBERS] * CHUNK


def test_means_kept_for_silent_members_are_bounded() -> None:
    receiving, _ = reducer()
    receiving.drop(3)
    for chunk in range(CHUNKS):
        receiving.take(1, chunk, part())
        [reply] = receiving.take(2, chunk, part())
        assert reply.to == {1, 2}
    assert receiving.complete
    assert receiving.held_bytes == WINDOW * CHUNK_BYTES
    for chunk in range(CHUNKS):
        [late] = receiving.take(3, chunk, part(9.0))
        assert (late.to, late.contributors) == ({3}, {0, 1, 2})
        assert np.frombuffer(late.payload, "<f4").tolist() == [1.0] * CHUNK
    assert receiving.held_bytes == 0


def test_overlong_part_is_refused() -> None:
    receiving, _ = reducer()
    with pytest.raises(RemoteProblem):
        receiving.take(1, 0, part(numel=CHUNK + 1))
    assert receiving.held_bytes == 0


def test_means_are_given_again_once_to_each() -> None:
    context = context_of()
    plan = context.shares.plan
    reducers = Reducers(context, windows_of(plan, CODECS["raw"]), Timetable(0.0, 1.0, 2.0, 20.0))
    given = 0
    for share in range(1, MEMBERS):
        lane = Lane(CHUNKS, reducer=share, window=WINDOW, now=0.0)
        for chunk in range(CHUNKS):
            request = Part(plan.round, share, 0, chunk, memoryview(b""))
            assert reducers.take(1, request, lane, 0.0) == [], "the mean is not here yet"
            lane.arrive(chunk, frozenset(range(MEMBERS)), 0.0, by=share)
            for member in range(1, MEMBERS):
                given += len(reducers.take(member, request, lane, 0.0))
                assert reducers.take(member, request, lane, 0.0) == []
    assert given == REPEATED_MAX * plan.chunk_total < (MEMBERS - 1) ** 2 * CHUNKS
