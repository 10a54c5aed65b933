"""Back-off: levels, exclusions that double, decay, jitter, and bounds on all of them."""

from random import Random

import pytest

from core.base.back_off import JITTER, BackOff

EVE, ADAM = "eve", "adam"


def test_exclusions_double_up_to_the_longest() -> None:
    failures: BackOff[str] = BackOff(first=4, longest=32)
    for length in (4, 8, 16, 32, 32):
        assert failures.fail(EVE, 10) == 10 + length
        assert failures.is_excluded(EVE, 9 + length)
        assert not failures.is_excluded(EVE, 10 + length)
    assert not failures.is_excluded(ADAM, 10)
    assert failures.level(ADAM, 10) == 0


def test_longest_bounds_what_doubling_would_exceed() -> None:
    failures: BackOff[str] = BackOff(first=5.0, longest=12.0)
    assert [failures.fail(EVE, 0.0) for _ in range(4)] == [5.0, 10.0, 12.0, 12.0]
    assert failures.fail(ADAM, 0.0, times=10**6) == 12.0


def test_several_levels_at_once_count_like_one_after_another() -> None:
    failures: BackOff[str] = BackOff(first=1, longest=32)
    assert failures.fail(EVE, 0, times=3) == 4.0


def test_free_levels_exclude_nothing() -> None:
    failures: BackOff[str] = BackOff(first=2, longest=8, free=2)
    lengths = []
    for _ in range(6):
        failures.fail(EVE, 100.0)
        lengths.append(failures.wait(EVE, 100.0))
    assert lengths == [0, 0, 2, 4, 8, 8]


def test_levels_decay_one_by_one_and_success_takes_one() -> None:
    failures: BackOff[str] = BackOff(first=1, longest=32, decay=10.0)
    failures.fail(EVE, 0.0, times=4)
    assert [failures.level(EVE, now) for now in (9.9, 10.0, 25.0, 39.9, 40.0, 99.0)] == [4, 3, 2, 1, 0, 0]
    failures.succeed(EVE, 15.0)
    assert failures.level(EVE, 15.0) == 2
    failures.fail(EVE, 15.0)
    assert failures.level(EVE, 24.9) == 3
    for _ in range(3):
        failures.succeed(EVE, 16.0)
    assert not failures.is_excluded(EVE, 16.0), "the last level ends the exclusion"
    failures.succeed(ADAM, 16.0)
    assert failures.level(ADAM, 16.0) == 0


def test_clear_forgets_everything() -> None:
    failures: BackOff[str] = BackOff(first=1, longest=32)
    failures.fail(EVE, 0.0, times=6)
    failures.clear(EVE)
    assert not failures.is_excluded(EVE, 0.0)
    failures.fail(EVE, 0.0)
    assert failures.level(EVE, 0.0) == 1


def test_oldest_failure_is_forgotten_first() -> None:
    failures: BackOff[object] = BackOff(first=1000, longest=1000, things_max=3)
    for thing in (EVE, ADAM, EVE, 1, 2):
        failures.fail(thing, 100.0)
    assert not failures.is_excluded(ADAM, 100.0)
    assert failures.is_excluded(EVE, 100.0)


def test_jitter_stays_within_its_factors() -> None:
    failures: BackOff[int] = BackOff(first=1.0, longest=8.0, random=Random(7))
    lengths = [failures.fail(thing, 100.0, times=9) - 100.0 for thing in range(200)]
    assert min(lengths) >= 8.0 * JITTER[0]
    assert max(lengths) <= 8.0 * JITTER[1]
    assert len(set(lengths)) == len(lengths)
    assert sum(lengths) / len(lengths) == pytest.approx(8.0, rel=0.05)
