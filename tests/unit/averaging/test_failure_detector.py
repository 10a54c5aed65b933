"""Which members are waited for in vain, by the rule and the timetable of the module's docstring."""

from dataclasses import replace

import pytest

from core.averaging.failure_detector import (
    ASKED_AT,
    LAG_PART,
    STAGE_PART,
    STAGES,
    FailureDetector,
    Stage,
    Timetable,
)
from core.averaging.patience import Waited

BEGAN_AT = 100.0
PLANNED_S, STALL_S, ROUND_S = 4.0, 6.0, 60.0
KNOWN, STRANGER = Waited(5.0, stranger=False), Waited(1.0, stranger=True)
TIMETABLE = Timetable(BEGAN_AT, PLANNED_S, STALL_S, ROUND_S, {8: KNOWN, 9: STRANGER})
PATIENCE_S = 5.0
LATER = BEGAN_AT + 1.0


def detector(stage: Stage = Stage.PARTS, *, patience_s: float = PATIENCE_S) -> FailureDetector:
    return FailureDetector(TIMETABLE, stage, patience_s=patience_s)


def test_the_timetable_gives_each_stage_its_time() -> None:
    slack_s = 2 * STALL_S / LAG_PART
    due = {stage: TIMETABLE.due_at(stage, 1, BEGAN_AT) - BEGAN_AT for stage in Stage}
    assert due[Stage.PARTS] == due[Stage.COMPLETE] == 2 * PLANNED_S + slack_s
    assert due[Stage.MEANS] == 3 * PLANNED_S + 2 * slack_s


@pytest.mark.parametrize("stage", Stage)
def test_few_members_have_half_of_what_they_earned(stage: Stage) -> None:
    late = BEGAN_AT + PLANNED_S + 1.0
    for member, waited in ((8, KNOWN), (9, STRANGER)):
        assert TIMETABLE.due_at(stage, member, late) == late + STAGE_PART * waited.seconds
        planned_s = 0.0 if waited.stranger else PLANNED_S
        assert TIMETABLE.due_at(stage, member, BEGAN_AT) == BEGAN_AT + planned_s + STAGE_PART * waited.seconds
    rich = replace(TIMETABLE, waits={1: Waited(1e9, stranger=False)})
    assert rich.due_at(stage, 1, BEGAN_AT) == TIMETABLE.due_at(stage, 1, BEGAN_AT), "the timetable holds all the same"


def test_looks_become_rarer_as_the_round_goes_on() -> None:
    ages = [0.0, 0.1, 1.0, 2.0, 60.0]
    waits = [TIMETABLE.look_at(BEGAN_AT + age) - BEGAN_AT - age for age in ages]
    assert waits == pytest.approx([0.02, 0.02, 0.125, 0.25, STALL_S / LAG_PART / 2])


@pytest.mark.parametrize("planned_s", [0.0, 1.0, 4.0, 12.0])
@pytest.mark.parametrize("stall_s", [0.5, 6.0, 30.0])
def test_stages_end_in_order_and_leave_time_to_mend(planned_s: float, stall_s: float) -> None:
    timetable = Timetable(BEGAN_AT, planned_s, stall_s, ROUND_S)
    parts, means = (timetable.due_at(stage, 1, 0.0) - BEGAN_AT for stage in (Stage.PARTS, Stage.MEANS))
    assert parts < means
    assert parts <= 2 / STAGES * ROUND_S
    assert means <= 3 / STAGES * ROUND_S


@pytest.mark.parametrize("stage", Stage)
@pytest.mark.parametrize("planned_s", [4.0, ROUND_S, 1e9])
def test_no_deadline_is_earlier_than_the_plan(stage: Stage, planned_s: float) -> None:
    timetable = Timetable(BEGAN_AT, planned_s, STALL_S, ROUND_S)
    assert timetable.due_at(stage, 1, BEGAN_AT) >= BEGAN_AT + ASKED_AT * planned_s
    assert timetable.lags_at >= BEGAN_AT + planned_s


def test_member_that_fell_behind_late_gets_time_for_repair_requests() -> None:
    since = BEGAN_AT + 50.0
    assert TIMETABLE.due_at(Stage.PARTS, 1, since) == since + STALL_S / LAG_PART
    assert TIMETABLE.due_at(Stage.COMPLETE, 1, since) == since + STALL_S / LAG_PART + PLANNED_S


def test_a_member_is_overdue_when_nothing_came_for_its_patience() -> None:
    waiting = detector()
    waiting.owe(frozenset({1, 2}), LATER, few=False)
    waiting.moved(2, LATER + 3.0)
    assert waiting.deadline == LATER + PATIENCE_S
    assert waiting.overdue(LATER + PATIENCE_S - 0.1) == []
    assert waiting.overdue(LATER + PATIENCE_S) == [1]
    assert waiting.overdue(LATER + 3.0 + PATIENCE_S) == [1, 2]


def test_patience_begins_anew_with_each_debt() -> None:
    waiting = detector()
    waiting.owe(frozenset({1}), LATER, few=False)
    waiting.owe(frozenset(), LATER + 1.0, few=False)
    waiting.owe(frozenset({1}), LATER + 100.0, few=False)
    assert waiting.overdue(LATER + 100.0 + PATIENCE_S - 0.1) == []
    assert waiting.overdue(LATER + 100.0 + PATIENCE_S) == [1]


def test_moving_members_are_overdue_by_the_timetable_only_if_few() -> None:
    for few, expected in ((True, [1]), (False, [])):
        waiting = detector(patience_s=1e9)
        waiting.owe(frozenset({1}), LATER, few=few)
        assert waiting.overdue(TIMETABLE.due_at(Stage.PARTS, 1, LATER)) == expected


def test_a_member_that_became_few_late_is_counted_from_then() -> None:
    waiting = detector(patience_s=1e9)
    waiting.owe(frozenset({1, 2}), LATER, few=False)
    since = BEGAN_AT + 40.0
    waiting.owe(frozenset({1}), since, few=True)
    waiting.owe(frozenset({1}), since + 1.0, few=True)
    assert waiting.deadline == since + STALL_S / LAG_PART


@pytest.mark.parametrize(
    ("members", "of", "few"), [(0, 4, False), (1, 1, True), (1, 2, True), (2, 4, False), (2, 5, True), (3, 5, False)]
)
def test_few_is_one_or_less_than_half(members: int, of: int, *, few: bool) -> None:
    assert detector().are_few(frozenset(range(members)), of=of) is few


def test_strangers_are_few_however_many_they_are() -> None:
    waits = dict.fromkeys(range(6), STRANGER)
    waiting = FailureDetector(replace(TIMETABLE, waits=waits), Stage.PARTS, patience_s=PATIENCE_S)
    assert waiting.are_few(frozenset(range(6)), of=7)
    assert waiting.are_few(frozenset({*range(6), 8}), of=9)
    assert not waiting.are_few(frozenset({8, 9}), of=4)
    assert not waiting.are_few(frozenset(), of=7)


def test_time_counts_while_a_member_is_one_of_few() -> None:
    waiting = detector(patience_s=1e9)
    planned = BEGAN_AT + PLANNED_S
    waiting.owe(frozenset({1, 2}), LATER, few=False)
    waiting.owe(frozenset({1}), LATER + 1.0, few=True)
    assert waiting.waited_s == {}
    waiting.owe(frozenset({1}), planned + 2.0, few=True)
    waiting.owe(frozenset(), planned + 10.0, few=False)
    waiting.owe(frozenset({1}), planned + 11.0, few=True)
    waiting.owe(frozenset({1, 3}), planned + 12.0, few=True)
    assert waiting.waited_s == {1: 3.0}
