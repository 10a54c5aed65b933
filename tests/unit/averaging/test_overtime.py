"""Who keeps others waiting beyond the plan's time."""

import msgspec
import numpy as np
import pytest

from core.averaging.allreduce.butterfly import Butterfly
from core.averaging.allreduce.overtime import GRACE_PLAN, GRACE_STALL, HURRIED, SLOWER, Overtime
from core.averaging.commit.waiting import Waiting
from core.averaging.penalties.observed import Remembered
from core.averaging.plan import Rates
from core.base.trace import Trace
from tests.unit.averaging.pump import make_plan

PLAN = make_plan([1] * 5, 16 * 20, stall_timeout_s=8.0)
PLANNED_S = 10.0
GRACE_S = GRACE_PLAN * PLANNED_S + GRACE_STALL * 8.0
BEGAN_AT = 100.0
OVER_AT = BEGAN_AT + SLOWER * PLANNED_S
OTHERS = 4


def overtime(*, hurried: int = 0, planned_s: float = PLANNED_S) -> Overtime:
    return Overtime(PLAN, planned_s=planned_s, began_at=BEGAN_AT, hurried=hurried)


@pytest.mark.parametrize(("beyond_s", "slow"), [(-0.01, 0), (0.01, 0b10)])
def test_what_counts_is_the_time_beyond_the_plans_and_a_grace(beyond_s: float, slow: int) -> None:
    counted = overtime()
    assert not counted.over(OVER_AT)
    counted.count([1], BEGAN_AT, of=OTHERS)
    for tenth in range(1, 11):
        counted.count([1], BEGAN_AT + (OVER_AT + GRACE_S + beyond_s - BEGAN_AT) * tenth / 10, of=OTHERS)
    assert counted.slow == slow
    assert counted.over(OVER_AT + 0.1)


def test_time_counts_only_for_those_who_are_few() -> None:
    counted = overtime()
    counted.count([1], OVER_AT, of=OTHERS)
    counted.count([1, 2], OVER_AT + 100.0, of=OTHERS)
    assert counted.slow == 0, "two of four"
    counted.count([3], OVER_AT + 200.0, of=1)
    assert counted.slow == 0b1000, "a single other one"
    counted.count([], OVER_AT + 300.0, of=OTHERS)
    assert counted.slow == 0b1000


def test_time_adds_up_over_many_short_waits() -> None:
    counted = overtime()
    now = OVER_AT
    counted.count([], now, of=OTHERS)
    for _ in range(8):
        counted.count([2], now + 0.5, of=OTHERS)
        counted.count([], now + 5.0, of=OTHERS)
        now += 5.0
    assert counted.slow == 0b100
    assert 8 * 0.5 > GRACE_S > 7 * 0.5 - 0.01


def test_where_no_lines_are_known_nobody_is_late() -> None:
    counted = overtime(planned_s=0.0, hurried=0b10)
    counted.count([1], 1e9, of=OTHERS)
    counted.count([1], 2e9, of=OTHERS)
    assert not counted.over(2e9)
    assert counted.slow == 0
    assert counted.left_at([1], of=OTHERS) is None
    assert counted.to_leave([1], 2e9, of=OTHERS) == []


def test_who_is_remembered_is_left_behind_earlier_and_that_is_not_held_against_it() -> None:
    counted = overtime(hurried=0b10)
    counted.count([1, 2, 3], BEGAN_AT, of=OTHERS)
    at = counted.left_at([1], of=OTHERS)
    assert at == BEGAN_AT + HURRIED * PLANNED_S + GRACE_S
    assert counted.left_at([2], of=OTHERS) is None
    assert counted.left_at([1, 2, 3], of=OTHERS) is None
    counted.count([1], at - 1.0, of=OTHERS)
    assert counted.left_at([1], of=OTHERS) == pytest.approx(at)
    assert counted.to_leave([1], at - 1.0, of=OTHERS) == []
    assert counted.to_leave([1], at, of=OTHERS) == [1]
    counted.count([1], at + 100.0, of=OTHERS)
    counted.left([1, 2], at + 100.0)
    assert counted.slow == 0b100


def test_after_somebody_was_left_behind_the_others_have_the_plans_time_again() -> None:
    counted = overtime()
    counted.count([1], OVER_AT + 30.0, of=OTHERS)
    counted.left([1], OVER_AT + 30.0)
    counted.count([2], OVER_AT + 30.0 + PLANNED_S, of=OTHERS)
    assert counted.slow == 0b10
    counted.count([2], OVER_AT + 31.0 + PLANNED_S + GRACE_S, of=OTHERS)
    assert counted.slow == 0b110


def test_the_leader_does_not_wait_for_whoever_is_remembered() -> None:
    """Nor is what others took to be done counted for anybody."""
    waiting = Waiting(overtime(hurried=0b10), of=OTHERS)
    waiting.begin(None, BEGAN_AT)
    waiting.begin([1], OVER_AT - 5.0)
    at = waiting.deadline
    assert at == OVER_AT - 5.0 + GRACE_S
    assert waiting.too_long(at - 0.1, began_at=BEGAN_AT, patience_s=8.0) == []
    assert waiting.too_long(at, began_at=BEGAN_AT, patience_s=8.0) == [1]
    usual = Waiting(overtime(), of=OTHERS)
    usual.begin([1], OVER_AT - 5.0)
    assert usual.deadline is None
    assert usual.too_long(at, began_at=BEGAN_AT, patience_s=8.0) == []


def test_what_rounds_usually_take_longer_is_planned() -> None:
    """A busy computer's rounds take 2.8 times what their plans say, all alike: nobody is late for that."""
    lines = (Rates(1_000_000, 1_000_000),) * 5
    plan = msgspec.structs.replace(make_plan([1] * 5, 100_000, chunk_numel=1000), lines=lines)
    vectors = np.zeros(100_000, np.float32), np.zeros(100_000, np.float32)
    bare, busy = (
        Butterfly(
            plan.peers[0],
            plan,
            contribution=vectors[0],
            result=vectors[1],
            trace=Trace(),
            remembered=Remembered(usual=usual),
        )._exchange.patience.planned_s
        for usual in (1.0, 2.8)
    )
    assert bare > 0
    assert busy == pytest.approx(2.8 * bare)
