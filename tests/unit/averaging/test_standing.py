"""Where a member of a grid stands, and whom it believes what."""

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from core.averaging.grid.convening import DECIDES_IN, LEAP
from core.averaging.grid.member import RUNNING, GridMember
from core.averaging.grid.messages import Arrived, Doubted, Holding, StageMember, StagePlan, StandIn
from core.averaging.grid.placement import layout_of
from core.averaging.grid.plans import divided
from core.base.problems import RemoteProblem
from tests.unit.averaging.pump import make_plan

PLAN = make_plan([1] * 9, 640, stages=2)
GRID = layout_of(PLAN)
NUMBER = 0
GROUP = GRID.stages[1][NUMBER]
FIRST, ME, LAST = GROUP.members
STALL_S = PLAN.stall_timeout_s
VECTOR = np.zeros(PLAN.numel, dtype=np.float32)


def holding(block: Sequence[int]) -> Holding:
    return Holding(bytes([min(block)]) * 32, len(block), 1.0)


def block_of(member: int) -> Sequence[int]:
    return GRID.stages[0][GRID.group_of(0, member)].members


def standing(me: int = ME, *, now: float = 0.0) -> GridMember:
    """It has come to the end of the first stage."""
    found = GridMember(PLAN, me, VECTOR)
    found.state = RUNNING
    found.rise(holding(block_of(me)), VECTOR, absent=(), now=now)
    return found


def arrive(found: GridMember, member: int, now: float, attempt: int = 0) -> None:
    word = Arrived(PLAN.round, 1, NUMBER, attempt, holding(block_of(member)))
    found.on_arrived(member, word, now)


def stage_plan(attempt: int = 0, *, number: int = NUMBER, givers: Sequence[int] = GROUP.members) -> StagePlan:
    group = GRID.stages[1][number]
    entries = sorted(
        (StageMember(m, place, gives=True) for place, block in enumerate(group.blocks) for m in givers if m in block),
        key=lambda entry: entry.place,
    )
    chunks = [PLAN.chunk_total // len(entries)] * len(entries)
    held = tuple(holding(group.blocks[entry.place]) for entry in entries)
    plain = StagePlan(PLAN.round, 1, number, attempt, tuple(entries), held, tuple(chunks))
    return divided(PLAN, plain, group)


# --- Doubted ---


def test_one_that_did_not_come_to_its_end_is_doubted_when_two_who_were_with_it_say_so() -> None:
    found = standing()
    a, b = [member for member in block_of(LAST) if member != LAST]
    found.on_doubted(a, Doubted(PLAN.round, LAST))
    found.on_doubted(a, Doubted(PLAN.round, LAST))
    assert found._doubted == set()
    found.on_doubted(b, Doubted(PLAN.round, LAST))
    assert found._doubted == {LAST}
    assert found.convening is not None
    assert found.convening.doubted == {LAST}


def test_where_two_were_in_a_group_the_other_one_is_enough() -> None:
    plan = make_plan([1] * 4, 640, stages=2)
    number, group = next(iter(enumerate(layout_of(plan).stages[1])))
    me, doubted = group.members
    found = GridMember(plan, me, VECTOR)
    [witness] = [m for m in layout_of(plan).stages[0][layout_of(plan).group_of(0, doubted)].members if m != doubted]
    found.on_doubted(witness, Doubted(plan.round, doubted))
    assert number == layout_of(plan).group_of(1, me)
    assert found._doubted == {doubted}


@pytest.mark.parametrize("who", ["of my block", "of another block", "itself", "me", "nobody", "another's"])
def test_who_cannot_know_it_or_says_it_of_whom_we_do_not_wait_for_is_not_believed(who: str) -> None:
    found = standing()
    others = [m for m in range(9) if m not in block_of(LAST) and m not in block_of(ME)]
    mate = next(m for m in block_of(LAST) if m != LAST)
    other = next(m for m in block_of(LAST) if m not in {LAST, mate})
    sender, doubted = {
        "of my block": (next(m for m in block_of(ME) if m != ME), LAST),
        "of another block": (others[0], LAST),
        "itself": (LAST, LAST),
        "me": (next(m for m in block_of(ME) if m != ME), ME),
        "nobody": (mate, 200),
        "another's": (mate, other),
    }[who]
    with pytest.raises(RemoteProblem):
        found.on_doubted(sender, Doubted(PLAN.round, doubted))
    assert found._doubted == set()


# --- StagePlan ---


def test_the_plan_of_a_stage_comes_from_the_first_of_the_group() -> None:
    found = standing()
    for member in (FIRST, LAST):
        arrive(found, member, 0.1)
    assert found.on_stage_plan(LAST, stage_plan(), 0.2) is None
    assert found.convening is not None
    assert found.convening.called is None
    called = found.on_stage_plan(FIRST, stage_plan(), 0.2)
    assert called is not None
    assert called[1]
    assert found.convening.called == stage_plan()


@pytest.mark.parametrize("how", ["lost", "silent", "undecided"])
def test_or_from_the_next_one_when_that_is_gone_or_does_not_decide(how: str) -> None:
    found = standing(LAST)
    now = 0.0
    while now < DECIDES_IN * STALL_S:
        assert found.on_stage_plan(ME, stage_plan(), now) is None or now > STALL_S / 2
        now += 0.5
        if how == "lost":
            found.gone |= 1 << FIRST
        for member in (FIRST, ME) if how == "undecided" else (ME,):
            arrive(found, member, now)
        waiting = found.waiting
        if waiting is None:
            break
        waiting.tick(found.gone, now)
        found.settle(waiting, now)
        if found.on_stage_plan(ME, stage_plan(), now) is not None:
            break
    least, most = {"lost": (0, 0.5), "silent": (STALL_S / 2, STALL_S), "undecided": (2 * STALL_S, 3 * STALL_S)}[how]
    assert least <= now <= most


@pytest.mark.parametrize("attempt", [0, LEAP, LEAP + 1, 15])
def test_an_attempt_far_ahead_is_not_believed(attempt: int) -> None:
    found = standing()
    called = found.on_stage_plan(FIRST, stage_plan(attempt), 0.1)
    assert (called is not None) is (attempt <= LEAP)


def test_an_invitation_is_its_inviters_and_is_used_once() -> None:
    number = next(n for n, group in enumerate(GRID.stages[1]) if ME not in group.members)
    group = GRID.stages[1][number]
    inviter, *others = [member for member in group.members if member not in block_of(ME)]
    found = standing()
    word = stage_plan(number=number, givers=[inviter, *others, ME])
    assert found.on_stage_plan(inviter, word, 0.1) is None, "nobody has asked yet"
    [(to, answer)] = found.on_stand_in(inviter, StandIn(PLAN.round, 1, number, 0), free=True)
    assert (to, type(answer)) == (inviter, Arrived)
    assert found.on_stage_plan(others[0], word, 0.1) is None
    called = found.on_stage_plan(inviter, word, 0.1)
    assert called is not None
    assert not called[1]
    assert found.on_stage_plan(inviter, msgspec.structs.replace(word, attempt=0), 0.2) is None
    assert not found._invited
