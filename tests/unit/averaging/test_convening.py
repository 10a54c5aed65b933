"""How a group comes together: who decides, who is waited for, who stands in for whom."""

import pytest

from core.averaging.grid.convening import DECIDES_IN, Convening
from core.averaging.grid.messages import Arrived, Holding, StageMember, StandIn
from core.averaging.grid.placement import Group

ROUND = b"r" * 32
STALL_S = 6.0
GROUP = Group(places=((0, 6), (2,), (4,)), blocks=((0, 1, 6), (2, 3, 7), (4, 5)))
HOLDINGS = {member: Holding(bytes([member // 2]) * 32, 10, 1.0) for member in range(8)}


def convening(me: int) -> Convening:
    return Convening(
        round_id=ROUND, stage=1, number=0, group=GROUP, me=me, holding=HOLDINGS[me], stall_timeout_s=STALL_S
    )


def arrive(gathering: Convening, member: int, now: float, attempt: int = 0) -> None:
    gathering.arrived(member, Arrived(ROUND, 1, 0, attempt, HOLDINGS[member]), now)


def test_everybody_is_told_and_the_first_decides_when_all_are_here() -> None:
    gathering = convening(0)
    told = gathering.begin(0, 0.0)
    assert [member for member, _ in told] == [2, 4, 6]
    arrive(gathering, 2, 0.1)
    arrive(gathering, 6, 0.1)
    assert gathering.settle(0, 0.1) == ([], None)
    arrive(gathering, 4, 0.2)
    asks, entries = gathering.settle(0, 0.2)
    assert asks == []
    assert entries == (
        StageMember(0, 0, gives=True),
        StageMember(2, 1, gives=True),
        StageMember(4, 2, gives=True),
        StageMember(6, 0, gives=False),
    )
    assert gathering.holding_of(4) == HOLDINGS[4]


def test_whoever_is_not_the_first_waits_and_takes_over_when_it_is_gone() -> None:
    gathering = convening(2)
    gathering.begin(0, 0.0)
    for member in (0, 4, 6):
        arrive(gathering, member, 0.1)
    assert gathering.settle(0, 0.1) == ([], None)
    _, entries = gathering.settle(1 << 0, 0.2)
    assert entries is not None
    assert [entry.member for entry in entries] == [6, 2, 4]


def test_a_spare_gives_for_one_that_is_lost_and_a_stand_in_where_there_is_none() -> None:
    gathering = convening(0)
    gathering.begin(0, 0.0)
    arrive(gathering, 4, 0.1)
    arrive(gathering, 6, 0.1)
    asks, entries = gathering.settle(1 << 2, 0.2)
    assert entries is None
    assert asks == [(3, StandIn(ROUND, 1, 0, 0))]
    assert gathering.settle(1 << 2, 0.3) == ([], None)
    asks, entries = gathering.settle(1 << 2 | 1 << 3, 0.4)
    assert (asks, entries) == ([(7, StandIn(ROUND, 1, 0, 0))], None)
    arrive(gathering, 7, 0.5)
    _, entries = gathering.settle(1 << 2 | 1 << 3, 0.5)
    assert entries is not None
    assert [(entry.member, entry.place) for entry in entries] == [(0, 0), (7, 1), (4, 2), (6, 0)]


def test_a_block_of_which_nobody_is_left_is_left_out() -> None:
    gathering = convening(0)
    gathering.begin(0, 0.0)
    for member in (2, 6):
        arrive(gathering, member, 0.1)
    _, entries = gathering.settle(1 << 4 | 1 << 5, 0.2)
    assert entries is not None
    assert [entry.member for entry in entries] == [0, 2, 6]


def test_the_silent_are_waited_for_no_longer_than_the_stall_timeout() -> None:
    gathering = convening(0)
    gathering.begin(0, 0.0)
    for member in (2, 6):
        arrive(gathering, member, 5.0)
    now = 5.0
    while now < STALL_S:
        assert gathering.settle(0, now) == ([], None)
        assert gathering.deadline is not None
        now = gathering.deadline
        gathering.tick(0, now)
    asks, entries = gathering.settle(0, now)
    assert (asks, entries) == ([(5, StandIn(ROUND, 1, 0, 0))], None)
    gathering.heard(4, now)
    assert gathering.settle(0, now) == ([], None), "it is here after all"


def test_one_that_says_where_it_is_is_waited_for() -> None:
    gathering = convening(0)
    gathering.begin(0, 0.0)
    for step in range(1, 40):
        for member in (2, 4, 6):
            gathering.heard(member, float(step))
        gathering.tick(0, float(step))
        assert gathering.settle(0, float(step)) == ([], None)


def test_heartbeats_go_on_and_time_never_stands_still() -> None:
    gathering = convening(2)
    gathering.begin(0, 0.0)
    now, beats = 0.0, 0
    for _ in range(50):
        assert gathering.deadline is not None
        assert gathering.deadline > now
        now = gathering.deadline
        beats += bool(gathering.tick(0, now))
        gathering.settle(0, now)
    assert 20 < beats <= 50


def test_a_first_one_that_does_not_decide_is_passed_over() -> None:
    gathering = convening(2)
    gathering.begin(0, 0.0)
    now = 0.0
    while now < 0.1 + DECIDES_IN * STALL_S:
        now += 1.0
        for member in (0, 4, 6):
            arrive(gathering, member, now)
        gathering.tick(0, now)
        if gathering.settle(0, now)[1] is not None:
            break
    entries = gathering.settle(0, now)[1]
    assert entries is not None
    assert [entry.member for entry in entries] == [6, 2, 4]
    assert now >= DECIDES_IN * STALL_S


def test_one_whose_part_did_not_come_gives_no_more_if_another_can() -> None:
    gathering = convening(0)
    gathering.unfit.update({4})
    gathering.begin(1, 0.0)
    for member in (2, 4, 6):
        arrive(gathering, member, 0.1, attempt=1)
    asks, entries = gathering.settle(0, 0.1)
    assert (asks, entries) == ([(5, StandIn(ROUND, 1, 0, 1))], None)
    arrive(gathering, 5, 0.2, attempt=1)
    _, entries = gathering.settle(0, 0.2)
    assert entries is not None
    assert [(entry.member, entry.gives) for entry in entries] == [
        (0, True),
        (2, True),
        (5, True),
        (6, False),
        (4, False),
    ]
    gathering.unable(5)
    _, entries = gathering.settle(0, 0.3)
    assert entries is not None
    assert [entry.member for entry in entries if entry.gives] == [0, 2, 4], "nobody else is left of its block"


@pytest.mark.parametrize("why", ["unfit", "doubted"])
def test_one_that_has_just_let_others_wait_is_not_waited_for_as_long_again(why: str) -> None:
    gathering = convening(0)
    getattr(gathering, why).update({4})
    gathering.begin(1, 0.0)
    for member in (2, 6):
        arrive(gathering, member, 0.1, attempt=1)
    while gathering.settle(0, 0.0)[0] == []:
        assert gathering.deadline is not None
        assert gathering.deadline < STALL_S
        gathering.tick(0, gathering.deadline)
    assert gathering._asked == {2: 5}


@pytest.mark.parametrize(("theirs", "mine"), [(0, 2), (2, 2), (3, 3), (6, 6), (15, 2)])
def test_a_later_attempt_is_followed_within_reason(theirs: int, mine: int) -> None:
    gathering = convening(0)
    gathering.begin(2, 0.0)
    arrive(gathering, 2, 0.1, attempt=theirs)
    assert gathering.attempt == mine


def test_strangers_are_not_counted() -> None:
    gathering = convening(0)
    gathering.begin(0, 0.0)
    for member in (2, 6, 3, 7):
        arrive(gathering, member, 0.1)
    asks, entries = gathering.settle(1 << 4, 0.2)
    assert entries is None
    assert asks == [(5, StandIn(ROUND, 1, 0, 0))]
