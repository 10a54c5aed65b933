"""How a group comes together: which member decides, which ones are waited for, and which stand in for the dead."""

from collections.abc import Sequence

import msgspec
import pytest

from core.averaging.commit.coordinator import HEARTBEATS
from core.averaging.grid.gathering import ATTEMPT_STALLS, UNFIT_PATIENCE, Gathering
from core.averaging.grid.layout import Group
from core.averaging.grid.plans import Arrived, Holding, StageBusy, StageMember, StagePlan, StandIn
from core.base.problems import RemoteProblem
from tests.unit.averaging.pump import make_plan

PLAN = make_plan([10] * 8, 640, stages=2)
STALL_S = PLAN.stall_timeout_s
GROUP = Group(places=((0, 6), (2,), (4,)), blocks=((0, 1, 6), (2, 3, 7), (4, 5)), stage=1)
FIRST, SECOND, THIRD, SPARE = GROUP.members


def holding(member: int) -> Holding:
    place = next(place for place, block in enumerate(GROUP.blocks) if member in block)
    return Holding(bytes([place]) * 32, 10, 1.0)


def gathering(me: int, *, gone: Sequence[int] = ()) -> Gathering:
    found = Gathering(PLAN, GROUP, me, holding(me), gone)
    found.retry(0.0)
    return found


def arrived(member: int, attempt: int = 0) -> Arrived:
    return Arrived(PLAN.round, 1, 0, attempt, holding(member))


def arrive(found: Gathering, *members: int, now: float = 0.1, attempt: int = 0) -> None:
    for member in members:
        found.receive(member, arrived(member, attempt), now)


def asked(told: Sequence[tuple[int, object]]) -> list[int]:
    return [member for member, word in told if isinstance(word, StandIn)]


def entries(found: Gathering) -> list[tuple[int, int, bool]]:
    assert found.called is not None
    return [(entry.member, entry.place, entry.holding is not None) for entry in found.called.entries]


def test_first_member_decides_when_all_have_arrived() -> None:
    found = Gathering(PLAN, GROUP, FIRST, holding(FIRST), ())
    assert [member for member, _ in found.retry(0.0)] == [SECOND, THIRD, SPARE]
    arrive(found, SECOND, SPARE)
    assert found.advance(0.1) == []
    arrive(found, THIRD)
    told = found.advance(0.2)
    assert [member for member, word in told if isinstance(word, StagePlan)] == [SECOND, THIRD, SPARE]
    assert entries(found) == [(FIRST, 0, True), (SECOND, 1, True), (THIRD, 2, True), (SPARE, 0, False)]
    assert found.deadline is None


def test_next_member_decides_when_first_is_lost() -> None:
    found = gathering(SECOND)
    arrive(found, FIRST, THIRD, SPARE)
    assert found.advance(0.1) == []
    found.lose(FIRST)
    found.advance(0.2)
    assert found.attempt == 1
    arrive(found, THIRD, SPARE, attempt=1)
    found.advance(0.3)
    assert entries(found) == [(SPARE, 0, True), (SECOND, 1, True), (THIRD, 2, True)]


def test_coordinators_known_to_be_lost_are_skipped() -> None:
    assert gathering(THIRD, gone=[FIRST, SECOND]).attempt == 2


def test_stand_ins_are_asked_one_after_the_other() -> None:
    found = gathering(FIRST)
    arrive(found, THIRD, SPARE)
    found.lose(SECOND)
    assert asked(found.advance(0.2)) == [3]
    assert asked(found.advance(0.3)) == []
    found.lose(3)
    assert asked(found.advance(0.4)) == [7]
    arrive(found, 7, now=0.5)
    found.advance(0.5)
    assert entries(found) == [(FIRST, 0, True), (7, 1, True), (THIRD, 2, True), (SPARE, 0, False)]


def test_block_without_living_members_is_left_out() -> None:
    found = gathering(FIRST, gone=[4, 5])
    arrive(found, SECOND, SPARE)
    found.advance(0.2)
    assert [member for member, _, gives in entries(found) if gives] == [FIRST, SECOND]


def test_silent_member_is_waited_for_one_stall_timeout() -> None:
    found = gathering(FIRST)
    now, told = 0.0, list[tuple[int, object]]()
    while not asked(told):
        assert now <= STALL_S
        arrive(found, SECOND, SPARE, now=now)
        told = [*found.advance(now)]
        now = found.deadline or now
    assert asked(told) == [5]
    assert now >= STALL_S
    found.receive(THIRD, StageBusy(PLAN.round, 1, 0, 0, passed=False), now)
    assert not asked(found.advance(now))
    assert found.called is None, "it is alive after all"


def test_busy_members_are_waited_for_in_every_attempt() -> None:
    found = gathering(FIRST)
    for step in range(40):
        for member in (SECOND, THIRD, SPARE):
            found.receive(member, StageBusy(PLAN.round, 1, 0, 0, passed=False), float(step))
        assert not asked(found.advance(float(step)))
        assert found.called is None


def test_member_beyond_the_stage_is_not_waited_for() -> None:
    found = gathering(FIRST)
    arrive(found, SECOND, SPARE)
    found.receive(THIRD, StageBusy(PLAN.round, 1, 0, 0, passed=True), 0.2)
    assert asked(found.advance(0.2)) == [5]


def test_heartbeats_go_on_while_a_group_gathers() -> None:
    found = gathering(SECOND)
    now, beats = 0.0, 0
    while now < 10 * STALL_S:
        assert found.deadline is not None
        assert found.deadline > now
        now = found.deadline
        for member in (FIRST, THIRD, SPARE):
            found.receive(member, StageBusy(PLAN.round, 1, 0, 0, passed=False), now)
        beats += any(isinstance(word, Arrived) for _, word in found.advance(now))
    assert beats >= 10 * HEARTBEATS


def test_undecided_coordinator_is_passed_over_in_time() -> None:
    found = gathering(SECOND)
    now = 0.0
    while found.called is None:
        now += STALL_S / HEARTBEATS
        assert now <= (ATTEMPT_STALLS + 1) * STALL_S
        arrive(found, FIRST, THIRD, SPARE, now=now, attempt=found.attempt)
        found.advance(now)
    assert now >= ATTEMPT_STALLS * STALL_S
    assert [member for member, _, _ in entries(found)] == list(GROUP.members)


def test_member_whose_part_did_not_come_gives_no_more() -> None:
    found = gathering(FIRST)
    found.retry(0.0, unfit=[THIRD])
    assert found.attempt == 1, "the second member's turn"
    found.retry(0.0, attempt=4)
    arrive(found, SECOND, THIRD, SPARE, attempt=4)
    assert asked(found.advance(0.1)) == [5]
    arrive(found, 5, now=0.2, attempt=4)
    found.advance(0.2)
    assert [(member, gives) for member, _, gives in entries(found)] == [
        (FIRST, True),
        (SECOND, True),
        (5, True),
        (SPARE, False),
        (THIRD, False),
    ]


def test_unfit_member_is_waited_for_a_short_time() -> None:
    found = gathering(FIRST, gone=[SECOND])
    arrive(found, THIRD, SPARE)
    found.advance(0.1)
    arrive(found, 3)
    found.advance(0.1)
    assert found.called is not None
    found.retry(1.0, attempt=4, unfit=[THIRD])
    arrive(found, SPARE, now=1.0, attempt=4)
    assert asked(found.advance(1.0)) == []
    assert asked(found.advance(1.0 + UNFIT_PATIENCE * STALL_S)) == [3, 5]


def test_unfit_member_gives_when_nobody_else_can() -> None:
    found = gathering(FIRST, gone=[5])
    found.retry(0.0, attempt=4, unfit=[THIRD])
    arrive(found, SECOND, THIRD, SPARE, attempt=4)
    found.advance(0.1)
    assert [member for member, _, gives in entries(found) if gives] == [FIRST, SECOND, THIRD]


@pytest.mark.parametrize(("theirs", "mine"), [(0, 2), (2, 2), (3, 3), (6, 6), (7, 2), (1000, 2)])
def test_later_attempt_is_followed_within_one_turn(theirs: int, mine: int) -> None:
    found = gathering(FIRST)
    found.retry(0.0, attempt=2)
    arrive(found, SECOND, attempt=theirs)
    assert found.attempt == mine


def test_earlier_attempt_is_told_of_the_present_one() -> None:
    found = gathering(FIRST)
    found.retry(0.0, attempt=2)
    [(to, word)] = found.receive(SECOND, arrived(SECOND, 1), 0.1)
    assert (to, word) == (SECOND, arrived(FIRST, 2))


def test_strangers_do_not_count_as_arrived() -> None:
    found = gathering(FIRST, gone=[THIRD])
    arrive(found, SECOND, SPARE, 3, 7, 5)
    assert asked(found.advance(0.2)) == [5], "nobody had asked it before"
    assert found.called is None


def test_holding_with_too_many_samples_is_refused() -> None:
    word = msgspec.structs.replace(arrived(SECOND), holding=msgspec.structs.replace(holding(SECOND), samples=31))
    with pytest.raises(RemoteProblem):
        gathering(FIRST).receive(SECOND, word, 0.1)


def plan_of(attempt: int = 0) -> StagePlan:
    given = tuple(StageMember(place[0], number, holding(place[0])) for number, place in enumerate(GROUP.places))
    return StagePlan(PLAN.round, 1, 0, attempt, given, ())


@pytest.mark.parametrize(
    ("sender", "attempt", "begins"),
    [(FIRST, 0, True), (THIRD, 0, False), (SECOND, 1, True), (FIRST, 4, True), (SECOND, 5, False), (SPARE, 1, False)],
)
def test_stage_plan_comes_from_its_attempts_coordinator(sender: int, attempt: int, begins: bool) -> None:  # noqa: FBT001
    found = gathering(SECOND)
    assert found.begins(sender, plan_of(attempt)) is begins
    assert (found.called is not None) is begins


def test_called_member_repeats_the_plan_and_is_busy_else() -> None:
    found = gathering(FIRST)
    arrive(found, SECOND, THIRD, SPARE)
    found.advance(0.2)
    assert found.receive(SECOND, arrived(SECOND), 0.3) == [(SECOND, found.called)]
    [(_, answer)] = found.receive(SECOND, arrived(SECOND, 1), 0.3)
    assert answer == StageBusy(PLAN.round, 1, 0, 1, passed=False)
