"""The times, counts and tolerances of a round that depend on each other, and the inequalities between them.

S is the manifest's stall timeout, R its round timeout, T its gather timeout.  Each test states one chain; a constant
that is changed out of its range makes it fail.
"""

import pytest

from core.averaging.allreduce.all_gather import REDUCER_PATIENCE
from core.averaging.balance import portions, solver
from core.averaging.bandwidth.demand import TIMELY_PART
from core.averaging.commit.coordinator import HEARTBEATS
from core.averaging.failure_detector import ASKED_AT, STAGE_PART, STAGES, Stage, Timetable
from core.averaging.grid.gathering import ATTEMPT_STALLS
from core.averaging.matchmaking import (
    CALL_PATIENCE,
    EXCLUDED_MAX_S,
    EXCLUDED_S,
    HELPERS_S,
    OTHERS_FACTOR,
    OWN_FACTOR,
    SLOWER_TOLERANCE,
)
from core.averaging.patience import EARNED, MOST_PLANS
from core.averaging.penalties import LATE_LONGEST, LONGEST, SURE
from core.averaging.receipts.exchange import SIGNED_BY_S
from core.base.manifest import AveragingNumbers

NUMBERS = AveragingNumbers()
S, R, T = NUMBERS.stall_timeout_s, NUMBERS.round_timeout_s, NUMBERS.gather_timeout_s


@pytest.mark.parametrize("planned_s", [0.0, 0.01, R / 20, R / STAGES])
def test_deadlines_of_a_round_follow_each_other(planned_s: float) -> None:
    timetable = Timetable(0.0, planned_s, S, R)
    parts, means = (timetable.due_at(stage, 0, 0.0) for stage in (Stage.PARTS, Stage.MEANS))
    assert timetable.usual_s < parts < means < R
    assert timetable.lags_at <= parts, "means are asked for elsewhere before a member is left behind"


def test_means_are_asked_for_elsewhere_after_the_planned_time() -> None:
    assert 1 < ASKED_AT < 2 <= STAGES


def test_slowest_line_that_is_planned_with_leaves_time_to_end() -> None:
    assert ASKED_AT * TIMELY_PART <= 1 - TIMELY_PART / 2


def test_waiting_leaves_rounds_four_fifths_of_their_pace() -> None:
    assert 1 / (1 + 2 * EARNED) >= 0.8


@pytest.mark.parametrize("planned_s", [0.0, R / 20, R / STAGES])
def test_most_that_is_earned_mends_a_broken_link(planned_s: float) -> None:
    timetable = Timetable(0.0, planned_s, S, R)
    assert STAGE_PART * (S + MOST_PLANS * planned_s) >= timetable.lag_s + planned_s


def test_silence_is_judged_after_several_heartbeats() -> None:
    assert HEARTBEATS >= 3, "two may be late or lost"
    assert S < REDUCER_PATIENCE * S < R / 2


def test_attempt_on_a_grid_finds_silent_members_and_stand_ins() -> None:
    assert ATTEMPT_STALLS > 2
    assert ATTEMPT_STALLS * S < R


def test_waits_for_a_group_follow_each_other() -> None:
    least, most = (part * T for part in CALL_PATIENCE)
    assert HELPERS_S < least < most < T < T + least < R


def test_exclusions_grow_and_end() -> None:
    assert EXCLUDED_S < T < EXCLUDED_MAX_S
    assert SURE > 1
    assert LATE_LONGEST < LONGEST


def test_checks_tolerate_more_than_planning_leaves() -> None:
    assert portions.FREE < solver.AS_SHORT
    assert 2 * (portions.FREE + solver.AS_SHORT) < SLOWER_TOLERANCE
    assert 1 < OWN_FACTOR < OTHERS_FACTOR


def test_signatures_are_awaited_for_less_than_a_stall_timeout() -> None:
    assert SIGNED_BY_S < S
