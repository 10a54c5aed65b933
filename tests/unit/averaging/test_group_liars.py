"""A leader that lies: what it says of others, and how long it holds them."""

import msgspec
import pytest

from core.averaging.matchmaking import Call, ContributionWanted, Declined, GroupFailed, Refused
from core.base.machine import Tick
from tests.unit.averaging.matchmakers import LINEAGE, Group, recipients, round_of
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
