"""How a group comes together: which member decides, which ones are waited for, and which stand in for the dead."""

from collections.abc import Sequence

import msgspec
import pytest

from core.averaging.commit.coordinator import HEARTBEATS
from core.averaging.grid.gathering import ATTEMPT_STALLS, Gathering
from core.averaging.grid.layout import Group
from core.averaging.grid.plans import Arrived, Holding, StagePlan
from core.base.machine import Send
from core.base.problems import RemoteProblem
from core.base.wire import Message
from tests.unit.averaging.pump import make_plan

PLAN = make_plan([10] * 8, 640, stages=2)
STALL_S = PLAN.stall_timeout_s
GROUP = Group(members=(0, 2, 4, 6), blocks=((0, 1, 6), (2, 3, 7), (4, 5)), stage=1)
FIRST, SECOND, THIRD, SPARE = GROUP.members


def holding(member: int) -> Holding:
    return Holding(bytes([GROUP.blocks.index(GROUP.block_of(member))]) * 32)


def gathering(me: int, *, gone: Sequence[int] = ()) -> Gathering:
    found = Gathering(PLAN, GROUP, me, holding(me), {*gone})
    found.gather(0, 0.0)
    found.advance(0.0)
    return found


def arrived(member: int, attempt: int = 0) -> Arrived:
    return Arrived(PLAN.round, 1, 0, attempt, holding(member))


def busy(attempt: int = 0) -> Arrived:
    return Arrived(PLAN.round, 1, 0, attempt)


def arrive(found: Gathering, *members: int, now: float = 0.1, attempt: int = 0) -> None:
    for member in members:
        found.receive(member, arrived(member, attempt), now)


def told(sent: Sequence[Send[Message]], kind: type[Message]) -> list[int]:
    return [PLAN.peers.index(send.to) for send in sent if isinstance(send.message, kind)]


def asked(sent: Sequence[Send[Message]]) -> list[int]:
    return [member for member in told(sent, Arrived) if member not in GROUP.members]


def called(found: Gathering) -> tuple[list[int], list[int]]:
    """Members that give, and the others."""
    assert found.called is not None
    assert [held for _, held in found.called.givers] == [holding(member) for member, _ in found.called.givers]
    return [member for member, _ in found.called.givers], [*found.called.others]


def test_first_member_decides_when_all_have_arrived() -> None:
    found = Gathering(PLAN, GROUP, FIRST, holding(FIRST), set())
    found.gather(0, 0.0)
    assert told(found.advance(0.0), Arrived) == [SECOND, THIRD, SPARE]
    arrive(found, SECOND, SPARE)
    assert found.advance(0.1) == []
    arrive(found, THIRD)
    assert told(found.advance(0.2), StagePlan) == [SECOND, THIRD, SPARE]
    assert called(found) == ([FIRST, SECOND, THIRD], [SPARE])
    assert found.deadline is None


def test_next_member_decides_when_first_is_lost() -> None:
    gone = set[int]()
    found = Gathering(PLAN, GROUP, SECOND, holding(SECOND), gone)
    found.gather(0, 0.0)
    found.advance(0.0)
    arrive(found, FIRST, THIRD, SPARE)
    assert found.advance(0.1) == []
    gone.add(FIRST)
    found.advance(0.2)
    assert found.attempt == 1
    arrive(found, THIRD, SPARE, attempt=1)
    found.advance(0.3)
    assert called(found) == ([SPARE, SECOND, THIRD], [])


def test_coordinators_known_to_be_lost_are_skipped() -> None:
    assert gathering(THIRD, gone=[FIRST, SECOND]).attempt == 2


def test_stand_ins_are_asked_one_after_the_other() -> None:
    gone = {SECOND}
    found = Gathering(PLAN, GROUP, FIRST, holding(FIRST), gone)
    found.gather(0, 0.0)
    arrive(found, THIRD, SPARE)
    assert asked(found.advance(0.2)) == [3]
    assert asked(found.advance(0.3)) == []
    gone.add(3)
    assert asked([send for send in found.advance(0.4) if send.to != PLAN.peers[3]]) == [7]
    arrive(found, 7, now=0.5)
    found.advance(0.5)
    assert called(found) == ([FIRST, 7, THIRD], [SPARE])


def test_block_without_living_members_is_left_out() -> None:
    found = gathering(FIRST, gone=[4, 5])
    arrive(found, SECOND, SPARE)
    found.advance(0.2)
    assert called(found) == ([FIRST, SECOND], [SPARE])


def test_silent_member_is_waited_for_one_stall_timeout() -> None:
    gone = set[int]()
    found = Gathering(PLAN, GROUP, FIRST, holding(FIRST), gone)
    found.gather(0, 0.0)
    now, sent = 0.0, list[Send[Message]]()
    while not asked(sent):
        assert now <= STALL_S
        arrive(found, SECOND, SPARE, now=now)
        sent = found.advance(now)
        now = found.deadline or now
    assert asked(sent) == [5]
    assert now >= STALL_S
    gone.discard(THIRD)
    found.receive(THIRD, busy(), now)
    assert not asked([send for send in found.advance(now) if send.to != PLAN.peers[5]])
    assert found.called is None, "it is alive after all"


def test_busy_members_are_waited_for_in_every_attempt() -> None:
    found = gathering(FIRST)
    for step in range(40):
        for member in (SECOND, THIRD, SPARE):
            found.receive(member, busy(), float(step))
        assert not asked(found.advance(float(step)))
        assert found.called is None


def test_heartbeats_go_on_while_a_group_gathers() -> None:
    found = gathering(SECOND)
    now, beats = 0.0, 0
    while now < 10 * STALL_S:
        assert found.deadline is not None
        assert found.deadline > now
        now = found.deadline
        for member in (FIRST, THIRD, SPARE):
            found.receive(member, busy(), now)
        beats += bool(told(found.advance(now), Arrived))
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
    assert called(found) == ([FIRST, SECOND, THIRD], [SPARE])


def test_member_whose_part_did_not_come_gives_no_more() -> None:
    gone = set[int]()
    found = Gathering(PLAN, GROUP, FIRST, holding(FIRST), gone)
    found.gather(4, 0.0, unfit=[THIRD])
    gone.discard(THIRD)
    arrive(found, SECOND, THIRD, SPARE, attempt=4)
    assert asked(found.advance(0.1)) == [5]
    arrive(found, 5, now=0.2, attempt=4)
    found.advance(0.2)
    assert called(found) == ([FIRST, SECOND, 5], [THIRD, SPARE])


def test_unfit_member_is_not_waited_for_where_another_gives() -> None:
    found = gathering(FIRST)
    found.gather(4, 1.0, unfit=[THIRD])
    arrive(found, SECOND, SPARE, now=1.0, attempt=4)
    assert asked(found.advance(1.0)) == [5]
    arrive(found, 5, now=1.1, attempt=4)
    found.advance(1.1)
    assert called(found) == ([FIRST, SECOND, 5], [SPARE])


def test_unfit_member_is_waited_for_where_no_other_lives() -> None:
    found = gathering(FIRST, gone=[5])
    found.gather(4, 1.0, unfit=[THIRD])
    arrive(found, SECOND, SPARE, now=1.0, attempt=4)
    found.advance(1.0)
    assert found.called is None
    arrive(found, SECOND, SPARE, now=1.0 + STALL_S, attempt=4)
    found.advance(1.0 + STALL_S)
    assert called(found) == ([FIRST, SECOND], [SPARE])


def test_unfit_members_do_not_coordinate() -> None:
    found = gathering(THIRD)
    found.gather(1, 1.0, unfit=[SECOND, THIRD])
    found.advance(1.0)
    assert found.attempt == 2


def test_unfit_member_gives_when_nobody_else_can() -> None:
    gone = {5}
    found = Gathering(PLAN, GROUP, FIRST, holding(FIRST), gone)
    found.gather(4, 0.0, unfit=[THIRD])
    gone.discard(THIRD)
    arrive(found, SECOND, THIRD, SPARE, attempt=4)
    found.advance(0.1)
    assert called(found) == ([FIRST, SECOND, THIRD], [SPARE])


@pytest.mark.parametrize(("theirs", "mine"), [(0, 2), (2, 2), (3, 3), (6, 6), (7, 2), (1000, 2)])
def test_later_attempt_is_followed_within_one_turn(theirs: int, mine: int) -> None:
    found = gathering(FIRST)
    found.gather(2, 0.0)
    arrive(found, SECOND, attempt=theirs)
    assert found.attempt == mine


def test_earlier_attempt_is_told_of_the_present_one() -> None:
    found = gathering(FIRST)
    found.gather(2, 0.0)
    assert found.receive(SECOND, arrived(SECOND, 1), 0.1) == arrived(FIRST, 2)


@pytest.mark.parametrize("missing", [((3, 1),), ((0, 1), (0, 2)), ((0, PLAN.chunk_total + 1),)])
def test_holding_that_cannot_be_is_refused(missing: tuple[tuple[int, int], ...]) -> None:
    word = msgspec.structs.replace(arrived(SPARE), holding=Holding(bytes(32), missing))
    with pytest.raises(RemoteProblem):
        gathering(FIRST).receive(SPARE, word, 0.1)


def test_member_of_no_block_is_refused() -> None:
    group = Group(members=GROUP.members, blocks=((0, 1, 6), (2, 3), (4, 5)), stage=1)
    found = Gathering(PLAN, group, FIRST, holding(FIRST), set())
    with pytest.raises(RemoteProblem):
        found.receive(7, Arrived(PLAN.round, 1, 0, 0, holding(FIRST)), 0.1)


def plan_of(attempt: int = 0) -> StagePlan:
    given = tuple((member, holding(member)) for member in (FIRST, SECOND, THIRD))
    return StagePlan(PLAN.round, 1, 0, attempt, given, (), ())


@pytest.mark.parametrize(
    ("sender", "attempt", "begins"),
    [(FIRST, 0, True), (THIRD, 0, False), (SECOND, 1, True), (FIRST, 4, True), (SECOND, 5, False), (SPARE, 1, False)],
)
def test_stage_plan_comes_from_its_attempts_coordinator(sender: int, attempt: int, begins: bool) -> None:  # noqa: FBT001
    found = gathering(SECOND)
    assert found.begins(sender, plan_of(attempt)) is begins
    assert (found.called is not None) is begins


def test_called_member_is_busy() -> None:
    found = gathering(FIRST)
    arrive(found, SECOND, THIRD, SPARE)
    found.advance(0.2)
    assert found.receive(SECOND, arrived(SECOND, 1), 0.3) == busy(1)
