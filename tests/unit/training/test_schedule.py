"""Schedules against those of transformers, and where a collaboration ends."""

import math
from collections.abc import Iterator

import msgspec
import pytest
import torch

from core.base.manifest import PAPER_LAMB, Manifest
from core.base.schedule import ScheduleNumbers, learning_rate
from tests.contracts.bounds import unbounded

RATE, WARM, TOTAL, DECAY, FLOOR = 0.4, 7, 60, 11, 0.1


def rates(**changes: object) -> list[float]:
    numbers = {"learning_rate": RATE, "warmup_epochs": WARM, "warmup_start": 0.0, "total_epochs": TOTAL} | changes
    schedule = msgspec.convert(numbers, ScheduleNumbers)
    return [learning_rate(schedule, epoch) for epoch in range(TOTAL + 5)]


def theirs(kind: str, *numbers: int, **changes: object) -> Iterator[float]:
    """The rates of a schedule of transformers, step by step."""
    from transformers import optimization  # takes seconds

    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=RATE)
    scheduler = getattr(optimization, f"get_{kind}")(optimizer, *numbers, **changes)
    for _ in range(TOTAL + 5):
        yield optimizer.param_groups[0]["lr"]
        optimizer.step()
        scheduler.step()


def test_linear_schedule_from_zero_is_that_of_the_paper() -> None:
    assert rates() == pytest.approx(list(theirs("linear_schedule_with_warmup", WARM, TOTAL)), abs=1e-15)


def test_cosine_schedule_is_that_of_transformers() -> None:
    expected = list(theirs("cosine_schedule_with_warmup", WARM, TOTAL))[: TOTAL + 1]  # theirs rises again
    assert rates(schedule="cosine")[: TOTAL + 1] == pytest.approx(expected, abs=1e-15)
    assert rates(schedule="cosine")[TOTAL:] == [0] * 5


def test_stable_schedule_with_a_floor_is_that_of_transformers() -> None:
    stable = TOTAL - WARM - DECAY
    expected = theirs("wsd_schedule", WARM, DECAY, num_stable_steps=stable, min_lr_ratio=FLOOR, decay_type="linear")
    found = rates(schedule="stable", decay_epochs=DECAY, floor=FLOOR, warmup_start=FLOOR)
    assert found == pytest.approx(list(expected), abs=1e-15)


def test_constant_schedule_ends_all_at_once() -> None:
    assert rates(schedule="constant")[WARM:] == [RATE] * (TOTAL - WARM) + [0] * 5


def test_a_rise_begins_at_its_share() -> None:
    rising = rates(warmup_start=0.125)[: WARM + 1]
    assert rising == pytest.approx([RATE * (0.125 + 0.875 * epoch / WARM) for epoch in range(WARM + 1)])
    assert rates(warmup_start=0.125, warmup_epochs=0)[0] == RATE


@pytest.mark.parametrize("schedule", ["linear", "cosine", "stable", "constant"])
@pytest.mark.parametrize("changes", [{}, {"warmup_epochs": 0}, {"warmup_epochs": 500}, {"floor": 0.25}, {"floor": 1.0}])
def test_rates_stay_between_nothing_and_the_full_rate(schedule: str, changes: dict[str, object]) -> None:
    found = rates(schedule=schedule, decay_epochs=DECAY, **changes)
    assert all(0 <= rate <= RATE for rate in found)
    warm = changes.get("warmup_epochs") != 500
    assert found[TOTAL:] == pytest.approx([RATE * changes.get("floor", 0.0)] * 5) or not warm


def test_half_a_cosine_is_right_to_the_last_bits() -> None:
    numbers = ScheduleNumbers(learning_rate=1.0, warmup_epochs=0, total_epochs=10_000, schedule="cosine")
    for epoch in range(1, 10_000, 7):
        assert learning_rate(numbers, epoch) == pytest.approx((1 + math.cos(math.pi * epoch / 1e4)) / 2, abs=4e-16)


def test_numbers_of_the_schedule_are_bounded() -> None:
    assert not unbounded(ScheduleNumbers)


def manifest(**changes: object) -> Manifest:
    return Manifest(name="n", organiser="o", task="t", authority="00" * 32, **changes)


def test_a_collaboration_ends_where_its_rate_is_zero() -> None:
    assert manifest().last_epoch == PAPER_LAMB["total_epochs"]
    assert manifest(optimizer={"name": "lamb", "total_epochs": 30, "schedule": "cosine"}).last_epoch == 30
    assert manifest(optimizer={"name": "lamb"}).last_epoch == 125_000


def test_a_collaboration_with_a_floor_goes_on() -> None:
    with_floor = manifest(optimizer={"name": "lamb", "total_epochs": 30, "floor": 0.1})
    assert with_floor.last_epoch is None
    assert (with_floor.last_epoch_within(None), with_floor.last_epoch_within(7)) == (None, 7)
    assert [manifest(optimizer={"total_epochs": 30}).last_epoch_within(asked) for asked in (None, 7, 31)] == [30, 7, 30]


def test_local_steps_end_with_their_own_schedule() -> None:
    local = {"name": "local", "optimizer": {"name": "sgd", "total_epochs": 20}}
    assert manifest(optimizer={"total_epochs": 30}, rule=local).last_epoch == 20


@pytest.mark.parametrize("number", ["much", -1, 0, 1e300])
def test_a_schedule_that_cannot_be_read_has_no_end(number: object) -> None:
    assert manifest(optimizer={"name": "lamb", "total_epochs": number}).last_epoch is None
