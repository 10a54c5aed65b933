"""The plans of a grid: what is refused, what everybody makes of the same words, and when a leader makes one."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from core.averaging.bandwidth.known import UNKNOWN, KnownLines
from core.averaging.grid.layout import FailureRate, layout_of
from core.averaging.grid.plans import (
    Holding,
    StageMember,
    StagePlan,
    butterflies,
    check_stage_plan,
    divided,
    joined,
    later_plan,
    outcome_of,
    stage_round,
)
from core.averaging.matchmaking.attempts import PlanRequest
from core.averaging.matchmaking.check_plan import check_plan
from core.averaging.matchmaking.make_plan import make_plan as published
from core.averaging.plan import Member, Plan, Rates
from core.base.manifest import AveragingNumbers
from core.base.problems import RemoteProblem
from tests.unit.averaging.pump import make_plan, peer_ids, request_of

NUMBERS = AveragingNumbers(chunk_numel=256)
PLAN = make_plan([3, 1, 4, 1, 5, 9, 2, 6, 5], 640, stages=2)
GROUP = layout_of(PLAN).stages[1][0]


def holding(place: int, **fields: Any) -> Holding:
    samples = sum(PLAN.members[member].samples for member in GROUP.blocks[place])
    return msgspec.structs.replace(Holding(bytes([place]) * 32, samples, 2.0), **fields)


def word(**fields: Any) -> StagePlan:
    entries = tuple(StageMember(place[0], number, holding(number)) for number, place in enumerate(GROUP.places))
    plain = StagePlan(PLAN.round, 1, 0, 0, entries, ())
    return msgspec.structs.replace(divided(PLAN, plain, GROUP), **fields)


def test_good_stage_plan_is_a_butterfly_of_block_means() -> None:
    check_stage_plan(PLAN, word(), GROUP)
    later = later_plan(PLAN, word(), GROUP)
    assert later.round == stage_round(word())
    assert later.topology == "butterfly"
    assert later.stages == 1
    assert [member.samples for member in later.members] == [
        entry.holding.samples for entry in word().entries if entry.holding
    ]
    assert sum(later.chunks) == PLAN.chunk_total
    assert sorted(later.leaders) == [0, 1, 2]


STRANGER = next(member for member in range(9) if member not in GROUP.members)


def with_entries(plan: StagePlan, *entries: StageMember) -> StagePlan:
    return msgspec.structs.replace(plan, entries=entries)


def with_first(plan: StagePlan, **fields: Any) -> StagePlan:
    return with_entries(plan, msgspec.structs.replace(plan.entries[0], holding=holding(0, **fields)), *plan.entries[1:])


BAD: dict[str, Callable[[StagePlan], StagePlan]] = {
    "too few chunks": lambda w: msgspec.structs.replace(w, chunks=(1, 1, 1)),
    "a share too few": lambda w: msgspec.structs.replace(w, chunks=w.chunks[:2]),
    "a member twice": lambda w: with_entries(w, w.entries[0], *w.entries[:2]),
    "not in order": lambda w: with_entries(w, *w.entries[::-1]),
    "givers after others": lambda w: with_entries(
        w, msgspec.structs.replace(w.entries[0], holding=None), *w.entries[1:]
    ),
    "no giver": lambda w: with_entries(w, *(msgspec.structs.replace(entry, holding=None) for entry in w.entries)),
    "gives for another block": lambda w: with_entries(
        w, *w.entries[:2], StageMember(w.entries[0].member, 2, holding(2))
    ),
    "a block too many": lambda w: with_entries(w, *w.entries[:2], StageMember(w.entries[2].member, 7, holding(2))),
    "a stranger as a spare": lambda w: msgspec.structs.replace(
        w, entries=(*w.entries, StageMember(STRANGER, 0)), chunks=(*w.chunks, 0)
    ),
    "more samples than there are": lambda w: with_first(w, samples=1 << 20),
    "others' missing chunks": lambda w: with_first(w, missing=((GROUP.blocks[1][0], 3),)),
    "the same missing twice": lambda w: with_first(w, missing=((GROUP.blocks[0][0], 3), (GROUP.blocks[0][0], 4))),
    "more missing chunks than there are": lambda w: with_first(
        w, missing=((GROUP.blocks[0][0], PLAN.chunk_total + 1),)
    ),
    "a loss that is no number": lambda w: with_first(w, loss=float("nan")),
}


@pytest.mark.parametrize("how", BAD)
def test_a_bad_stage_plan_is_refused(how: str) -> None:
    with pytest.raises(RemoteProblem):
        check_stage_plan(PLAN, BAD[how](word()), GROUP)


def test_stage_name_depends_on_what_was_given_not_by_whom() -> None:
    name = joined(PLAN, word(), GROUP).fingerprint
    others = [StageMember(block[1], number, holding(number)) for number, block in enumerate(GROUP.blocks)]
    assert joined(PLAN, with_entries(word(group=1), *others), GROUP).fingerprint == name
    changed = (with_first(word(), samples=1), with_first(word(), fingerprint=b"x" * 32))
    assert len({name, *(joined(PLAN, other, GROUP).fingerprint for other in changed)}) == 3


def test_block_that_was_left_out_is_missing_in_outcome() -> None:
    first = GROUP.blocks[0]
    partly = msgspec.structs.replace(word().entries[1], holding=holding(1, missing=((GROUP.blocks[1][0], 5),)))
    outcome = outcome_of(PLAN, joined(PLAN, with_entries(word(), partly, word().entries[2]), GROUP))
    lacking = {PLAN.peers.index(peer): chunks for peer, chunks in outcome.missing}
    assert lacking == {**dict.fromkeys(first, PLAN.chunk_total), GROUP.blocks[1][0]: 5}
    assert {PLAN.peers.index(peer) for peer, _ in outcome.contributors} == set(range(9)) - set(first)
    assert outcome.samples == sum(m.samples for i, m in enumerate(PLAN.members) if i not in first)


def test_a_plan_of_a_grid_is_checked_group_by_group() -> None:
    check_plan(PLAN, request_of(PLAN), PLAN.members[0])
    assert [sum(plan.chunks) for plan in butterflies(PLAN)] == [PLAN.chunk_total] * 3
    one, *_, other = sorted(range(9), key=lambda member: layout_of(PLAN).group_of(0, member).number)
    moved = list(PLAN.chunks)
    moved[one] -= 1
    moved[other] += 1
    for bad in (
        {"chunks": tuple(moved)},
        {"topology": "butterfly"},
        {"stages": 1},
        {"stages": 4},
    ):
        with pytest.raises(RemoteProblem):
            check_plan(msgspec.structs.replace(PLAN, **bad), request_of(PLAN), PLAN.members[0])


def members(count: int, **fields: Any) -> list[Member]:
    return [Member(peer, 1 + number, 1.0, **fields) for number, peer in enumerate(peer_ids(count))]


def a_grid(chosen: list[Member], *, codec: str = "raw", known: KnownLines = UNKNOWN) -> Plan:
    numbers = AveragingNumbers(codec=codec, chunk_numel=256)
    request = PlanRequest(round=b"n" * 32, epoch=3, lineage=bytes(32), attempt=0, numel=256 * 40, numbers=numbers)
    return published(request, chosen, [member.peer for member in chosen], known=known, stages=2)


def test_grid_shares_follow_lines_within_each_group() -> None:
    chosen = members(9)
    lines = {m.peer: Rates(10**6 * (1 + number % 3), 10**7) for number, m in enumerate(chosen)}
    plan = a_grid(chosen, known=KnownLines(lines, {}))
    assert (plan.topology, plan.stages) == ("grid", 2)
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
    outcome = outcome_of(PLAN, Holding(bytes(32), 30, 1.0, missing=((2, 1), (5, PLAN.chunk_total))))
    counted, expected = FailureRate(), FailureRate()
    counted.finished(PLAN, outcome)
    expected.saw(members=9, failed=2)
    assert counted.value == expected.value
    given = msgspec.structs.replace(PLAN, gifts=(256, 256, 128, *[256] * 6))
    counted, expected = FailureRate(), FailureRate()
    counted.finished(given, outcome)
    expected.saw(members=8, failed=1)
    assert counted.value == expected.value
