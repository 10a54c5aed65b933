"""Numbers as people read them."""

from core.api.numbers import amount, company, gathered


def test_thousands_are_set_apart_by_a_space():
    assert [amount(number) for number in (0, 999, 1234567, -2048)] == ["0", "999", "1 234 567", "-2 048"]
    assert amount(12_345.67, decimals=1) == "12 345.7"


def test_more_than_enough_is_enough():
    assert gathered(1264, 2048) == "1 264 of 2 048 samples"
    assert gathered(2048, 2048) == gathered(5472, 2048) == "2 048 of 2 048 samples gathered, averaging"


def test_who_trains_and_who_is_always_on():
    assert company(1, 0) == "1 volunteer"
    assert company(3, 1) == "3 volunteers, 1 always on"
