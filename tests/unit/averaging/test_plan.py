"""Shares, and plans that must be refused."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.averaging.balance.shares import apportion
from core.averaging.matchmaking.plans import check_plan
from core.averaging.messages import from_bits, to_bits
from core.averaging.plan import Member, Plan, chunk_count
from core.base.problems import RemoteProblem
from core.base.wire import MessageCodec
from tests.unit.averaging.pump import make_plan, request_of


@given(st.integers(0, 5000), st.lists(st.integers(0, 10**9), min_size=1, max_size=40))
def test_apportion_gives_everything_near_the_quota(total: int, weights: list[int]) -> None:
    if sum(weights) == 0:
        with pytest.raises(ValueError, match="weights"):
            apportion(total, weights)
        return
    seats = apportion(total, weights)
    assert sum(seats) == total
    whole = sum(weights)
    for seat, weight in zip(seats, weights, strict=True):
        assert seat >= weight * total // whole, "never less than the rounded-down quota"
        assert weight or not seat


@given(st.integers(0, 300), st.lists(st.integers(0, 50), min_size=1, max_size=6).filter(any))
def test_apportion_is_the_method_of_highest_averages(total: int, weights: list[int]) -> None:
    seats = [0] * len(weights)
    for _ in range(total):
        best = max(range(len(weights)), key=lambda i: (weights[i] / (seats[i] + 1), -i))
        seats[best] += 1
    assert sorted(apportion(total, weights)) == sorted(seats)


def test_equal_weights_differ_by_one_chunk_at_most() -> None:
    assert apportion(10, [1, 1, 1, 1]) == (3, 3, 2, 2)
    assert apportion(2, [1, 1, 1]) == (1, 1, 0)
    with pytest.raises(ValueError, match="weights"):
        apportion(1, [2, -1])


@given(st.integers(1, 10**6), st.integers(1, 10**4))
def test_chunks_cover_the_vector(numel: int, chunk_numel: int) -> None:
    chunks = chunk_count(numel, chunk_numel)
    assert (chunks - 1) * chunk_numel < numel <= chunks * chunk_numel


@given(st.sets(st.integers(0, 255)))
def test_bits_survive_the_wire(members: set[int]) -> None:
    assert from_bits(to_bits(frozenset(members))) == members
    assert len(to_bits(frozenset(members))) <= 32


def test_a_good_plan_passes_and_survives_the_wire() -> None:
    plan = make_plan([1, 2, 3], 1000)
    codec = MessageCodec((Plan,))
    again = codec.decode(codec.encode(plan))
    assert again == plan
    check_plan(plan, request_of(plan), plan.members[1], leader=plan.leader)
    assert sum(plan.span(c).stop - plan.span(c).start for c in range(plan.chunk_total)) == plan.numel


PLAN = make_plan([1, 2, 3], 1000)


def sparing(*spared: int, clients: tuple[int, ...] = (), members: int = 6) -> Plan:
    plan = make_plan([1] * members, 1000)
    rows = tuple(
        msgspec.structs.replace(row, reduces=i not in {*spared, *clients}, spared=i in spared)
        for i, row in enumerate(plan.members)
    )
    return msgspec.structs.replace(plan, members=rows)


@pytest.mark.parametrize("me", [0, 1, 2, 3])
def test_plan_may_spare_a_third_of_the_reducers(me: int) -> None:
    for plan, member in ((sparing(0, 1), me), (sparing(0, members=2), me % 2)):
        offered = make_plan([1] * len(plan.members), 1000).members[member]
        check_plan(plan, request_of(plan), offered, leader=plan.leader)


@pytest.mark.parametrize(
    ("plan", "me"),
    [
        (sparing(0, 1, 2), 4),
        (sparing(0, 1, clients=(2,)), 4),
        (sparing(0, 1, members=2), 0),
        (sparing(0, clients=(1,), members=2), 0),
        (sparing(1, clients=(0,)), 0),
    ],
)
def test_plan_that_spares_too_many_is_refused(plan: Plan, me: int) -> None:
    with pytest.raises(RemoteProblem):
        check_plan(plan, request_of(plan), make_plan([1] * len(plan.members), 1000).members[me], leader=plan.leader)


def test_spared_member_reduces_nothing() -> None:
    plan = make_plan([1] * 3, 1000)
    rows = (msgspec.structs.replace(plan.members[0], spared=True), *plan.members[1:])
    with pytest.raises(RemoteProblem, match="spares"):
        check_plan(msgspec.structs.replace(plan, members=rows), request_of(plan), plan.members[1], leader=plan.leader)


@pytest.mark.parametrize(
    "change",
    [
        {"round": bytes(32)},
        {"epoch": 4},
        {"lineage": b"x" * 32},
        {"numel": 999},
        {"chunk_numel": 17},
        {"codec": "other"},
        {"stall_timeout_s": 100.0},
        {"round_timeout_s": 3600.0},
        {"members": PLAN.members[::-1]},
        {"members": (PLAN.members[0], PLAN.members[1], PLAN.members[1])},
        {"members": (PLAN.members[0], Member(PLAN.members[1].peer, 99, 0.0), PLAN.members[2])},
        {"members": (PLAN.members[0], PLAN.members[2])},
        {"members": (PLAN.members[0], PLAN.members[1], Member(PLAN.members[2].peer, 3, float("nan")))},
        {"members": (PLAN.members[0], PLAN.members[1], msgspec.structs.replace(PLAN.members[2], receives=False))},
        {"chunks": (63, 0)},
        {"chunks": (21, 21, 20)},
        {"leaders": (0, 1, 1)},
        {"leaders": (0, 1)},
        {"leaders": (0, 1, 2, 3)},
    ],
)
def test_a_bad_plan_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(RemoteProblem):
        check_plan(msgspec.structs.replace(PLAN, **change), request_of(PLAN), PLAN.members[1], leader=PLAN.leader)
