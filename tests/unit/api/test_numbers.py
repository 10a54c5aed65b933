"""Numbers as people read them."""

from core.api.numbers import amount, company, gathered, lasting, speed, volume


def test_thousands_are_set_apart_by_a_space():
    assert [amount(number) for number in (0, 999, 1234567, -2048)] == ["0", "999", "1 234 567", "-2 048"]
    assert amount(12_345.67, decimals=1) == "12 345.7"


def test_more_than_enough_is_enough():
    assert gathered(1264, 2048) == "1 264 of 2 048 samples"
    assert gathered(2048, 2048) == gathered(5472, 2048) == "2 048 of 2 048 samples gathered, averaging"


def test_trainers_and_backbones_are_counted_apart():
    assert company(1, 0) == "1 volunteer"
    assert company(3, 1) == "3 volunteers, 1 backbone"


def test_speeds_and_amounts_of_data():
    assert [speed(rate) for rate in (0, 100, 4096, 250_000, 12_500_000, 1e10)] == [
        "0 bit/s",
        "800 bit/s",
        "32.77 kbit/s",
        "2 Mbit/s",
        "100 Mbit/s",
        "80 Gbit/s",
    ]
    assert [volume(count) for count in (0, 999, 1000, 1_250_000, 999_999_999, 5 * 10**10, 10**19)] == [
        "0 bytes",
        "999 bytes",
        "1 kB",
        "1.25 MB",
        "1 GB",
        "50 GB",
        "10000 PB",
    ]


def test_lengths_of_time_are_told_in_the_largest_unit():
    times = {
        0: "0 seconds",
        0.4: "0.4 seconds",
        0.032: "0.03 seconds",
        0.97: "1 second",
        1: "1 second",
        90: "90 seconds",
        600: "10 minutes",
        86_400: "24 hours",
        172_800: "2 days",
        63_072_000: "730 days",
    }
    assert {seconds: lasting(seconds) for seconds in times} == times
