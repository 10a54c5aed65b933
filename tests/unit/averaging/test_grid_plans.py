"""The plans of a grid: what is refused, what everybody makes of the same words, and when a leader makes one."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from core.averaging.bandwidth.known import UNKNOWN, KnownLines
from core.averaging.grid.layout import KEPT, FailureRate, group_of, layout_of
from core.averaging.grid.plans import (
    Holding,
    StagePlan,
    butterflies,
    check_stage_plan,
    divided,
    joined,
    later_plan,
    round_outcome,
)
from core.averaging.matchmaking.plans import PlanRequest, check_plan
from core.averaging.matchmaking.plans import make_plan as published
from core.averaging.plan import Member, Plan, Rates
from core.base.manifest import AveragingNumbers
from core.base.problems import RemoteProblem
from tests.unit.averaging.pump import make_plan, peer_ids, request_of

NUMBERS = AveragingNumbers(chunk_numel=256)
PLAN = make_plan([3, 1, 4, 1, 5, 9, 2, 6, 5], 640, stages=2)
GROUP = layout_of(PLAN)[1][0]


def holding(place: int, *missing: tuple[int, int]) -> Holding:
    return Holding(bytes([place]) * 32, missing)


def word(**fields: Any) -> StagePlan:
    givers = tuple((GROUP.members[place], holding(place)) for place in range(3))
    return msgspec.structs.replace(divided(PLAN, StagePlan(PLAN.round, 1, 0, 0, givers, (), ()), GROUP), **fields)


def samples(place: int) -> list[int]:
    return [PLAN.members[member].samples for member in GROUP.blocks[place]]


def test_good_stage_plan_is_a_butterfly_of_block_means() -> None:
    check_stage_plan(PLAN, word(), GROUP)
    later = later_plan(PLAN, word(), GROUP)
    assert later.stages == 1
    assert later.stages == 1
    assert [member.samples for member in later.members] == [sum(samples(place)) for place in range(3)]
    assert sum(later.chunks) == PLAN.chunk_total
    assert sorted(later.leaders) == [0, 1, 2]
    assert later_plan(PLAN, word(attempt=1), GROUP).round != later.round


def test_block_weighs_what_is_in_its_mean() -> None:
    first, second, _ = GROUP.blocks[0]
    word_ = with_first(word(), (first, PLAN.chunk_total), (second, PLAN.chunk_total - 1))
    assert later_plan(PLAN, word_, GROUP).members[0].samples == sum(samples(0)[1:])


STRANGER = next(member for member in range(9) if member not in GROUP.members)
"""A member of another group, which is to stand in for nobody."""


def with_givers(plan: StagePlan, *givers: tuple[int, Holding]) -> StagePlan:
    return msgspec.structs.replace(plan, givers=givers)


def with_first(plan: StagePlan, *missing: tuple[int, int]) -> StagePlan:
    return with_givers(plan, (plan.givers[0][0], holding(0, *missing)), *plan.givers[1:])


def with_others(plan: StagePlan, *others: int) -> StagePlan:
    return msgspec.structs.replace(plan, others=others, chunks=(*plan.chunks, *(0 for _ in others)))


BAD: dict[str, Callable[[StagePlan], StagePlan]] = {
    "too few chunks": lambda w: msgspec.structs.replace(w, chunks=(1, 1, 1)),
    "a share too few": lambda w: msgspec.structs.replace(w, chunks=w.chunks[:2]),
    "a member twice": lambda w: with_others(w, w.givers[0][0]),
    "another twice": lambda w: with_others(with_givers(w, *w.givers[:2]), w.givers[2][0], w.givers[2][0]),
    "a block twice": lambda w: with_givers(w, *w.givers[:2], (GROUP.blocks[1][1], holding(1))),
    "not in order": lambda w: with_givers(w, *w.givers[::-1]),
    "no giver": with_givers,
    "another's mean": lambda w: with_givers(w, w.givers[0], (w.givers[1][0], holding(1, (GROUP.blocks[2][0], 1)))),
    "a stranger as a spare": lambda w: with_others(w, STRANGER),
    "others' missing chunks": lambda w: with_first(w, (GROUP.blocks[1][0], 3)),
    "the same missing twice": lambda w: with_first(w, (GROUP.blocks[0][0], 3), (GROUP.blocks[0][0], 4)),
    "more missing chunks than there are": lambda w: with_first(w, (GROUP.blocks[0][0], PLAN.chunk_total + 1)),
}


@pytest.mark.parametrize("how", BAD)
def test_a_bad_stage_plan_is_refused(how: str) -> None:
    with pytest.raises(RemoteProblem):
        check_stage_plan(PLAN, BAD[how](word()), GROUP)


def test_giver_of_no_block_is_refused() -> None:
    plan = make_plan([1] * 8, 640, stages=3)
    one, other = (group for group in layout_of(plan)[1] if group.number in {0, 2})
    givers = tuple((member, Holding(bytes(32))) for member in other.members)
    bad = StagePlan(plan.round, 1, 0, 0, givers, (), (plan.chunk_total, 0))
    with pytest.raises(RemoteProblem):
        check_stage_plan(plan, bad, one)


def test_stage_name_depends_on_what_was_given_not_by_whom() -> None:
    name = joined(PLAN, word(), GROUP).fingerprint
    others = [(block[1], holding(number)) for number, block in enumerate(GROUP.blocks)]
    assert joined(PLAN, with_givers(word(group=1), *others), GROUP).fingerprint == name
    lacking = with_first(word(), (GROUP.blocks[0][0], 1))
    other_mean = with_givers(word(), (GROUP.members[0], Holding(b"x" * 32)), *word().givers[1:])
    assert len({name, *(joined(PLAN, other, GROUP).fingerprint for other in (lacking, other_mean))}) == 3


def test_block_that_was_left_out_is_missing_in_outcome() -> None:
    first, partly = GROUP.blocks[0], GROUP.blocks[1][0]
    givers = (GROUP.members[1], holding(1, (partly, 5))), word().givers[2]
    outcome = round_outcome(PLAN, joined(PLAN, with_givers(word(), *givers), GROUP))
    lacking = {PLAN.peers.index(peer): chunks for peer, chunks in outcome.missing}
    assert lacking == {**dict.fromkeys(first, PLAN.chunk_total), partly: 5}
    assert {PLAN.peers.index(peer) for peer, _ in outcome.contributors} == set(range(9)) - set(first)


def test_a_plan_of_a_grid_is_checked_group_by_group() -> None:
    check_plan(PLAN, request_of(PLAN), PLAN.members[0], leader=PLAN.leader)
    assert [sum(plan.chunks) for plan in butterflies(PLAN)] == [PLAN.chunk_total] * 3
    one, *_, other = sorted(range(9), key=lambda member: group_of(layout_of(PLAN)[0], member).number)
    moved = list(PLAN.chunks)
    moved[one] -= 1
    moved[other] += 1
    for bad in (
        {"chunks": tuple(moved)},
        {"stages": 1},
        {"stages": 4},
    ):
        with pytest.raises(RemoteProblem):
            check_plan(msgspec.structs.replace(PLAN, **bad), request_of(PLAN), PLAN.members[0], leader=PLAN.leader)


def members(count: int, **fields: Any) -> list[Member]:
    return [Member(peer, 1 + number, 1.0, **fields) for number, peer in enumerate(peer_ids(count))]


def a_grid(chosen: list[Member], *, codec: str = "raw", known: KnownLines = UNKNOWN) -> Plan:
    numbers = AveragingNumbers(codec=codec, chunk_numel=256)
    request = PlanRequest(round=b"n" * 32, epoch=3, lineage=bytes(32), numel=256 * 40, numbers=numbers)
    return published(request, chosen, [member.peer for member in chosen], known=known, stages=2)


def test_grid_shares_follow_lines_within_each_group() -> None:
    chosen = members(9)
    lines = {m.peer: Rates(10**6 * (1 + number % 3), 10**7) for number, m in enumerate(chosen)}
    plan = a_grid(chosen, known=KnownLines(lines, {}))
    assert plan.stages == 2
    for group in butterflies(plan):
        assert sum(group.chunks) == 40
        assert group.lines == tuple(lines[peer] for peer in group.peers)
        fast, slow = max(group.lines, key=lambda r: r.up), min(group.lines, key=lambda r: r.up)
        if fast.up > slow.up:
            assert group.chunks[group.lines.index(fast)] > group.chunks[group.lines.index(slow)]


def test_grid_holds_only_members_that_need_the_mean() -> None:
    helper = Member(b"\xff" * 32, 0, 0.0, receives=False)
    plan = a_grid([*members(8), helper])
    assert plan.stages == 2
    assert len(plan.members) == 8
    assert helper.peer not in plan.peers
    one = a_grid([*members(3), helper])
    assert (one.stages, len(one.members)) == (1, 4)
    assert a_grid([helper, *members(8)]).stages == 1, "its leader would not be in it"


def test_no_grid_where_the_codec_needs_feedback() -> None:
    assert a_grid(members(8), codec="q4").stages == 1


def test_the_failure_rate_counts_those_whose_contribution_lacks_something() -> None:
    outcome = round_outcome(PLAN, Holding(bytes(32), missing=((2, 1), (5, PLAN.chunk_total))))
    counted = FailureRate()
    counted.finished(PLAN, outcome)
    assert counted.value == pytest.approx((1 - KEPT) * 2 / 9)
    given = msgspec.structs.replace(PLAN, portions=(256, 256, 128, *[256] * 6))
    counted = FailureRate()
    counted.finished(given, outcome)
    assert counted.value == pytest.approx((1 - KEPT) * 1 / 8)
    counted.finished(msgspec.structs.replace(PLAN, portions=(0,) * 9), outcome)
    assert counted.value == pytest.approx((1 - KEPT) * 1 / 8), "nobody was to give all"
