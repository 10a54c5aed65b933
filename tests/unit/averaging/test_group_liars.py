"""Peers that lie: leaders about others, and how long they hold them; strangers and members about themselves."""

import msgspec
import pytest

from core.averaging.matchmaking import (
    Call,
    Cancelled,
    ContributionWanted,
    Declined,
    Elsewhere,
    GroupFailed,
    GroupFormed,
    Ready,
    Refused,
    Wanted,
)
from core.averaging.plan import Member
from core.base.machine import Send, Tick
from tests.unit.averaging.matchmakers import LINEAGE, STRANGER, Group, messages, recipients, round_of
from tests.unit.averaging.pump import make_plan


@pytest.mark.parametrize("leaders", [(200, 0, 1), (1, 0, 2)], ids=["nobody", "another"])
def test_plan_that_names_another_leader_is_held_against_its_sender(leaders: tuple[int, ...]) -> None:
    group = Group(3)
    group.place()
    liar, me = group.peers[0], group.peers[2]
    call = Call(1, LINEAGE, 0, 1)
    group.tell(me, liar, call)
    plan = msgspec.structs.replace(make_plan([1] * 3, 1000), round=round_of(liar, call), leaders=leaders)
    assert liar in recipients(group.tell(me, liar, plan), Refused)
    said = group.tell(me, liar, Call(1, LINEAGE, 0, 2))
    assert recipients(said, Declined) == {liar}, "it is excluded"
    said = group.tell(me, group.peers[1], Call(1, LINEAGE, 1, 3))
    assert not recipients(said, Declined), "the one that it has named is not"


def test_leader_that_calls_again_and_again_holds_nobody() -> None:
    group = Group(3)
    group.place()
    liar, me = group.peers[0], group.peers[2]
    for number in range(4):
        said = group.tell(me, liar, Call(1, LINEAGE, 1000 - number, number))
        assert any(isinstance(event, ContributionWanted) for event in said) is (number == 0)
    deadline = group.machines[me].deadline
    assert deadline is not None
    group.pump.now = deadline
    assert any(isinstance(event, GroupFailed) for event in group.machines[me].handle(Tick(), deadline))


@pytest.mark.parametrize(
    "row",
    [Member(bytes(32), 5, 1.0), Member(STRANGER, 5, 1.0, spared=True), Member(STRANGER, 5, 1.0, receives=False)],
    ids=["another's", "spared by itself", "helper with samples"],
)
def test_row_that_no_member_can_have_is_not_taken(row: Member) -> None:
    group = Group(3)
    group.place()
    leader = group.leader()
    group.look(leader)
    [call] = messages(group.tell(leader, STRANGER, Wanted(1, LINEAGE, 0)), Call)
    round_ = round_of(leader, call)
    assert group.tell(leader, STRANGER, Ready(round_, row)) == [Send(STRANGER, Cancelled(round_))]


def test_stranger_that_declines_stops_no_round() -> None:
    group = Group(3)
    group.place()
    leader = group.leader()
    group.look(leader)
    calls = 0
    for _ in range(20):
        calls += len(messages(group.tell(leader, STRANGER, Wanted(1, LINEAGE, 0)), Call))
        group.tell(leader, STRANGER, Declined(1, LINEAGE, 0, "busy"))
    assert calls == 1
    group.pump.run()
    group.one_plan(group.peers)


@pytest.mark.parametrize(("epoch", "forms"), [(0, True), (2, False)])
def test_leader_left_behind_goes_nowhere_alone(epoch: int, *, forms: bool) -> None:
    group = Group(2)
    group.place()
    leader, [other] = group.leader(), group.others()
    group.pump.frozen.add(other)
    group.look(leader)
    said = group.tell(leader, other, Declined(epoch, b"l" * 32, 0, "elsewhere"))
    assert Elsewhere(other, epoch, b"l" * 32) in said
    group.pump.run()
    formed = [event for event in group.pump.events[leader] if isinstance(event, GroupFormed | GroupFailed)]
    assert isinstance(formed[0], GroupFormed) is forms
    assert isinstance(formed[-1], GroupFormed), "once it has waited for in vain, it goes on: the other may lie"
