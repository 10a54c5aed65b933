from hypothesis import given
from hypothesis import strategies as st

from core.base.connection_limit import ConnectionLimit


def entered(limit: ConnectionLimit[int], comings: list[tuple[int, str]]) -> list[int | None]:
    return [limit.enter(number, household) for number, household in comings]


def test_oldest_of_a_full_household_makes_way():
    limit: ConnectionLimit[int] = ConnectionLimit(most=10, most_of_one=2)
    assert entered(limit, [(1, "a"), (2, "b"), (3, "a"), (4, "a"), (5, "a")]) == [None, None, None, 1, 3]
    limit.leave(4)
    assert entered(limit, [(6, "a")]) == [None]


def test_household_with_most_makes_way_when_all_places_are_taken():
    limit: ConnectionLimit[int] = ConnectionLimit(most=4, most_of_one=3)
    assert entered(limit, [(1, "a"), (2, "b"), (3, "b"), (4, "b"), (5, "c"), (6, "d")]) == [None] * 4 + [2, 3]
    assert len(limit) == 4


def test_silent_connection_makes_way_before_one_that_spoke():
    limit: ConnectionLimit[int] = ConnectionLimit(most=10, most_of_one=3)
    entered(limit, [(1, "a"), (2, "a"), (3, "a")])
    for number in (1, 3):
        limit.spoke(number)
    assert entered(limit, [(4, "a"), (5, "a"), (6, "a")]) == [2, 4, 5]
    limit.spoke(6)
    assert entered(limit, [(7, "a")]) == [1]


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.booleans()), max_size=80))
def test_limits_hold_whatever_comes_and_goes(steps):
    limit: ConnectionLimit[int] = ConnectionLimit(most=5, most_of_one=3)
    live: dict[int, str] = {}
    for number, (household, leaves) in enumerate(steps):
        if leaves and live:
            gone = next(iter(live))
            limit.leave(gone)
            del live[gone]
        victim = limit.enter(number, household)
        live[number] = household
        if victim is not None:
            del live[victim]
        assert len(limit) == len(live) <= 5
        assert all(list(live.values()).count(one) <= 3 for one in "abcde")
    for number in live:
        limit.leave(number)
    assert len(limit) == 0
