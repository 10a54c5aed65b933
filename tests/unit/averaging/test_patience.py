from core.averaging.patience import FORGET_S, FREE, LEADERS_MAX, LONGEST_S, Patience
from core.base.ids import PeerId

EVE = PeerId(b"e" * 32)


def test_a_few_fruitless_calls_are_free_then_rests_double_up_to_a_limit() -> None:
    patience = Patience()
    for _ in range(FREE - 1):
        patience.disappointed(EVE, 100.0)
        assert not patience.over(EVE, 100.0)
    for rest in (2.0, 4.0, 8.0, 16.0, 32.0, 32.0):
        patience.disappointed(EVE, 100.0)
        assert patience.over(EVE, 100.0 + rest - 0.1)
        assert not patience.over(EVE, 100.0 + rest)
    assert rest == LONGEST_S


def test_a_plan_or_time_make_good() -> None:
    patience = Patience()
    patience.disappointed(EVE, 100.0, times=FREE)
    patience.content(EVE)
    assert not patience.over(EVE, 100.0)
    patience.disappointed(EVE, 100.0, times=FREE)
    patience.disappointed(EVE, 101.0 + FORGET_S)
    assert not patience.over(EVE, 101.0 + FORGET_S)


def test_only_so_many_leaders_are_remembered() -> None:
    patience = Patience()
    patience.disappointed(EVE, 100.0, times=FREE)
    for number in range(LEADERS_MAX):
        patience.disappointed(PeerId(number.to_bytes(32, "big")), 100.0, times=FREE)
    assert not patience.over(EVE, 100.0)
