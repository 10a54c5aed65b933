"""What a reducer takes, and how much it keeps: whatever its senders do, the window bounds its memory."""

import numpy as np

from core.averaging.aggregators import WeightedMean
from core.averaging.allreduce.all_gather import REPEATED_MAX, AllGather
from core.averaging.allreduce.lane import Lane, Lanes
from core.averaging.allreduce.reducer import Reducer
from core.averaging.allreduce.share_map import ShareMap
from core.averaging.allreduce.vectors import RoundContext, Vectors
from core.averaging.butterfly import RoundInput
from core.averaging.failure_detector import Timetable
from core.averaging.messages import Part, from_bits
from core.base.machine import Trace
from core.codecs.registry import CODECS
from tests.unit.averaging.pump import make_plan

CHUNK = 16
CHUNKS = 12
WINDOW = 3
MEMBERS = 4
TIMETABLE = Timetable(0.0, 1.0, 2.0, 20.0)


def context_of() -> RoundContext:
    """The first of four members, with equal shares."""
    plan = make_plan([1] * MEMBERS, CHUNK * CHUNKS * MEMBERS, chunk_numel=CHUNK)
    shares = ShareMap(plan)
    ones = np.ones(plan.numel, dtype=np.float32)
    vectors = Vectors(shares, 0, RoundInput(ones, np.zeros_like(ones), CODECS["raw"]))
    return RoundContext(shares, 0, vectors, WeightedMean(), Trace())


def reducer() -> tuple[Reducer, RoundContext]:
    context = context_of()
    lane = Lane(0, CHUNKS, window=WINDOW, now=0.0)
    return Reducer(context, lane, live=context.shares.everybody, timetable=TIMETABLE), context


def part(value: float = 1.0, numel: int = CHUNK) -> memoryview:
    return np.full(numel, value, dtype="<f4").view(np.uint8).data


def test_parts_beyond_the_window_are_dropped() -> None:
    receiving, context = reducer()
    for chunk in range(CHUNKS):
        assert receiving.take(1, chunk, part(), 0.0) == []
    assert len(receiving.pending) == WINDOW
    assert context.trace["averaging.drop.window"] == CHUNKS - WINDOW


def test_window_moves_with_the_first_open_chunk() -> None:
    receiving, context = reducer()
    for member in range(1, MEMBERS):
        receiving.take(member, 0, part(), 0.0)
    assert len(receiving.pending) == 0
    receiving.take(1, WINDOW, part(), 0.0)
    receiving.take(1, WINDOW + 1, part(), 0.0)
    assert len(receiving.pending) == 1
    assert context.trace["averaging.drop.window"] == 1


def test_second_part_of_a_member_is_dropped() -> None:
    receiving, context = reducer()
    receiving.take(1, 0, part(5.0), 0.0)
    assert receiving.take(1, 0, part(1e9), 0.0) == []
    assert context.trace["averaging.drop.duplicate"] == 1
    receiving.take(2, 0, part(), 0.0)
    reply = receiving.take(3, 0, part(), 0.0)[0][1]
    assert np.frombuffer(reply.payload, "<f4").tolist() == [(1 + 5 + 1 + 1) / MEMBERS] * CHUNK


def test_member_that_asks_late_gets_each_mean_once() -> None:
    receiving, context = reducer()
    receiving.drop(frozenset({3}))
    for chunk in range(CHUNKS):
        receiving.take(1, chunk, part(), 0.0)
        assert [to for to, _ in receiving.take(2, chunk, part(), 0.0)] == [1, 2]
    assert receiving.complete
    assert len(receiving.pending) == 0
    for chunk in range(CHUNKS):
        [(to, late)] = receiving.take(3, chunk, part(9.0), 0.0)
        assert (to, from_bits(late.contributors)) == (3, {0, 1, 2})
        assert np.frombuffer(late.payload, "<f4").tolist() == [1.0] * CHUNK
        assert receiving.take(3, chunk, part(9.0), 0.0) == []
    assert context.trace["averaging.drop.duplicate"] == CHUNKS


def test_overlong_part_is_refused() -> None:
    receiving, context = reducer()
    assert receiving.take(1, 0, part(numel=CHUNK + 1), 0.0) == []
    assert context.trace["averaging.drop.payload"] == 1
    assert receiving.senders == {2, 3}, "nothing of its sender counts any more"


def test_means_are_given_again_once_to_each() -> None:
    context = context_of()
    plan = context.shares.plan
    lanes = Lanes(Lane(share, CHUNKS, window=WINDOW, now=0.0) for share in range(MEMBERS))
    gather = AllGather(context, lanes, TIMETABLE)
    given = 0
    for share in range(1, MEMBERS):
        for chunk in range(CHUNKS):
            request = Part(plan.round, share, 0, chunk, memoryview(b""))
            assert gather.repeat(1, request) == [], "the mean is not here yet"
            lanes[share].arrive(chunk, frozenset(range(MEMBERS)))
            for member in range(1, MEMBERS):
                given += len(gather.repeat(member, request))
                assert gather.repeat(member, request) == []
    assert given == REPEATED_MAX * plan.chunk_total < (MEMBERS - 1) ** 2 * CHUNKS
