import pytest

from core.averaging.balance.portions import best_portions
from core.averaging.balance.traffic import Work, fleet
from core.bench.cadence import Between, best_cadence, cadences
from tests.unit.averaging.test_balance import MEGA, line

FAST = [line(100, samples_per_s=100)] * 3


def task(target: int) -> Work:
    return Work(numel=1_000_000, number_bytes=4, target_samples=target)


def tried(slow, work, between, **more):
    return cadences([*FAST, slow], work, member=3, between=between, longest=12, **more)


def test_in_every_round_is_the_round_of_all():
    slow = line(100, 1, samples_per_s=1)
    found = tried(slow, task(0), Between.LISTENS)
    assert found[0].steps_per_s == pytest.approx(1 / best_portions(fleet([*FAST, slow], task(0))).seconds)


def test_slow_upload_sending_every_kth_round_costs_a_kth():
    slow = line(100, 1, samples_per_s=1)
    found = tried(slow, task(0), Between.LISTENS)
    without_s = best_portions(fleet([*FAST, line(100, 1, gives=False)], task(0))).seconds
    with_s = best_portions(fleet([*FAST, slow], task(0))).seconds
    for one in found:
        assert 1 / one.steps_per_s == pytest.approx(((one.every - 1) * without_s + with_s) / one.every)
    assert best_cadence(found).every == 12


def test_where_computing_takes_longer_every_round_is_best():
    slow = line(100, 50, samples_per_s=100)
    found = tried(slow, task(100_000), Between.LISTENS)
    assert found[0].steps_per_s == pytest.approx(400 / 100_000)
    assert found[1].steps_per_s == pytest.approx(400 / 100_000)
    assert found[-1].steps_per_s < 400 / 100_000
    assert best_cadence(found).every == 1


def test_slow_download_gains_from_absence_and_not_from_listening():
    slow = line(2, 100, samples_per_s=1)
    listens = tried(slow, task(0), Between.LISTENS)
    away = tried(slow, task(0), Between.AWAY, catch_up_bytes=4e6)
    assert listens[-1].steps_per_s == pytest.approx(listens[0].steps_per_s)
    assert away[-1].steps_per_s > 1.5 * away[0].steps_per_s


def test_absent_peer_must_fetch_the_state_before_its_round():
    slow = line(2, 100, samples_per_s=1)
    away = tried(slow, task(0), Between.AWAY, catch_up_bytes=400e6)
    assert 1 / away[-1].steps_per_s == pytest.approx(404e6 / (2 * MEGA) / 12)


def test_partial_contributions_are_no_worse_than_every_kth_round():
    slow = line(100, 1, samples_per_s=20)
    work = task(300)
    best = best_cadence(tried(slow, work, Between.LISTENS))
    divided = best_portions(fleet([*FAST, slow], work))
    given = 300 + 20 * divided.portions[3] / 256
    assert min(given / 300, 1 / divided.seconds) >= 0.99 * best.steps_per_s
