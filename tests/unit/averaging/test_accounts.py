"""Accounts of what is held against peers: levels, rests that double, and how both end."""

from core.averaging.penalties.back_off import CALL_LEVELS, FORGET_S, FREE, PEERS_MAX, Accounts, fruitless_calls
from core.base.ids import PeerId

EVE, ADAM = PeerId(b"e" * 32), PeerId(b"a" * 32)


def test_rests_double_with_each_level_up_to_the_highest() -> None:
    accounts = Accounts(first=4, most=4)
    for number, rest in enumerate((4, 8, 16, 32, 32)):
        accounts.blame(EVE, 10)
        assert accounts.level(EVE, 10) == min(number + 1, 4)
        assert accounts.resting(EVE, 9 + rest)
        assert not accounts.resting(EVE, 10 + rest)
    assert not accounts.resting(ADAM, 10)
    assert accounts.level(ADAM, 10) == 0


def test_several_levels_at_once_are_as_bad_as_one_after_the_other() -> None:
    accounts = Accounts(first=1, most=6)
    accounts.blame(EVE, 0, levels=3)
    assert accounts.resting(EVE, 3.9)
    assert not accounts.resting(EVE, 4.0)


def test_levels_fade_one_by_one_and_praise_makes_good_for_one() -> None:
    accounts = Accounts(first=1, most=6, fade=10.0)
    accounts.blame(EVE, 0.0, levels=4)
    assert [accounts.level(EVE, now) for now in (9.9, 10.0, 25.0, 39.9, 40.0, 99.0)] == [4, 3, 2, 1, 0, 0]
    accounts.praise(EVE, 15.0)
    assert accounts.level(EVE, 15.0) == 2
    accounts.blame(EVE, 15.0)
    assert accounts.level(EVE, 24.9) == 3
    for _ in range(3):
        accounts.praise(EVE, 16.0)
    assert not accounts.resting(EVE, 16.0), "whoever has made good for all rests no longer"
    accounts.praise(ADAM, 16.0)
    assert accounts.level(ADAM, 16.0) == 0


def test_whoever_is_cleared_begins_anew() -> None:
    accounts = Accounts(first=1, most=6)
    accounts.blame(EVE, 0.0, levels=6)
    accounts.clear(EVE)
    assert not accounts.resting(EVE, 0.0)
    accounts.blame(EVE, 0.0)
    assert accounts.level(EVE, 0.0) == 1


def test_only_so_many_are_remembered() -> None:
    accounts = Accounts(first=1000, most=6)
    accounts.blame(EVE, 100.0)
    accounts.blame(ADAM, 100.0)
    accounts.blame(EVE, 100.0)
    for number in range(PEERS_MAX - 1):
        accounts.blame(PeerId(number.to_bytes(32, "big")), 100.0)
    assert not accounts.resting(ADAM, 100.0), "the one with the oldest reason is forgotten"
    assert accounts.resting(EVE, 100.0)


def test_a_few_fruitless_calls_are_free_then_rests_double_up_to_a_limit() -> None:
    calls = fruitless_calls()
    for _ in range(FREE):
        calls.blame(EVE, 100.0)
        assert not calls.resting(EVE, 100.0)
    for rest in (2.0, 4.0, 8.0, 16.0, 32.0, 32.0):
        calls.blame(EVE, 100.0)
        assert calls.resting(EVE, 100.0 + rest - 0.1)
        assert not calls.resting(EVE, 100.0 + rest)
    assert calls.level(EVE, 100.0) == CALL_LEVELS


def test_a_plan_or_time_make_good_for_all_fruitless_calls() -> None:
    calls = fruitless_calls()
    calls.blame(EVE, 100.0, levels=FREE + 1)
    calls.clear(EVE)
    assert not calls.resting(EVE, 100.0)
    calls.blame(EVE, 100.0, levels=FREE + 1)
    calls.blame(EVE, 101.0 + FORGET_S)
    assert not calls.resting(EVE, 101.0 + FORGET_S)
