"""Members that hold up the others: what they cost is bounded by the timetable, and memory makes them cheap."""

from dataclasses import replace
from functools import cache
from random import Random

import pytest

from core.averaging.failure_detector import Stage, Timetable
from core.averaging.penalties import REST_ROUNDS
from core.averaging.plan import Rates
from core.base.ids import PeerId
from tests.sim.rounds import hostile, stragglers
from tests.sim.rounds.hostile import Kind
from tests.sim.rounds.stragglers import (
    BYTES_PER_S,
    MEMBERS,
    SCENARIOS,
    Mechanism,
    Scenario,
    Series,
    SeriesReport,
    line,
    run_scenario,
    switched_off,
)

TASK = replace(stragglers.TASK, chunk_numel=512)
"""As long a round in half as many messages."""


def series_of(count: int, kind: Kind | None = None, **fields: object) -> Series:
    return Series(count, kind, task=TASK, **fields)


RATE = Rates(int(BYTES_PER_S), int(2 * BYTES_PER_S))


@cache
def honest_s(count: int) -> float:
    """How long a round of honest members takes."""
    return series_of(count).round(0).seconds


def due_s(stage: Stage, count: int) -> float:
    """When a stage is over, in seconds; what the lines plan is what an undisturbed round takes, at most."""
    return Timetable(0.0, honest_s(count), TASK.stall_timeout_s, TASK.round_timeout_s).due_at(stage, 0, 0.0)


def series_with(kind: Kind, count: int) -> Series:
    return series_of(count, kind, place=count - 1)


@cache
def report_of(name: str, without: Mechanism | None = None) -> SeriesReport:
    [found] = [known for known in SCENARIOS if known.name == name]
    return run_scenario(found, seed=1, without=frozenset({without} - {None}), task=TASK)


def seconds_left(series: Series, at: int, of: int) -> float:
    """How long one member waits for another, beyond what strangers have."""
    patience = series.ledgers[series.peers[at]].patience
    waits = patience.waits([series.peers[of], PeerId(b"s" * 32)], series.now)
    return waits[series.peers[of]].seconds - waits[PeerId(b"s" * 32)].seconds


def all_finish(series: Series) -> bool:
    return all(result.same and not result.reasons for result in series.results)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_honest_members_never_hold_different_means(scenario: Scenario) -> None:
    report = report_of(scenario.name)
    assert report.split == 0
    if scenario.kind is not None:
        assert report.failed == 0


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("seconds", [20.0, 40.0, 100.0])
def test_slow_parts_cost_the_deadline_twice_and_then_little(count: int, seconds: float) -> None:
    series = series_with(hostile.slow_parts(seconds), count)
    took = series.rounds(2 + REST_ROUNDS)
    assert all_finish(series)
    assert max(took) < due_s(Stage.PARTS, count) + 3 * honest_s(count)
    assert max(took[2:]) < min(took[:2])
    liar = series.peers[series.place]
    assert dict(series.results[-1].outcomes[0].missing)[liar] > 0
    for member in series.honest:
        left = {other: seconds_left(series, member, other) for other in range(count)}
        assert left[series.place] < min(left[other] for other in series.honest)


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("seconds", [20.0, 100.0])
def test_a_slow_reducer_costs_two_rounds_and_gets_no_share(count: int, seconds: float) -> None:
    series = Series(count, hostile.slow_means(seconds), place=count - 1)
    took = series.rounds(2 + REST_ROUNDS)
    assert all_finish(series)
    assert max(took) < due_s(Stage.MEANS, count) + 2 * honest_s(count)
    assert series.results[2].plan.chunks[series.place] == 0
    assert max(took[2 : 1 + REST_ROUNDS]) < 1.3 * honest_s(count)


@pytest.mark.parametrize("count", [3, 5])
@pytest.mark.parametrize(("seconds", "last"), [(12.0, 1.0), (40.0, 0.4), (1e4, 0.4), (1e4, 0.1)])
def test_a_starved_member_gets_its_means_from_others(count: int, seconds: float, last: float) -> None:
    series = series_with(hostile.starves(0, seconds=seconds, last=last), count)
    took = series.rounds(2 * count)
    assert all_finish(series)
    assert max(took) < 3 * honest_s(count)
    for member in series.honest:
        assert seconds_left(series, member, 0) == seconds_left(series, member, 1), "the starved member is not to blame"


def test_a_member_that_says_it_lacks_means_gains_no_time() -> None:
    series = series_with(hostile.always_lacks, 3)
    took = series.rounds(8)
    assert all_finish(series)
    assert max(took) < due_s(Stage.COMPLETE, 3) + 2 * honest_s(3)
    assert max(took[6:]) < max(took[:2])


@pytest.mark.parametrize(("count", "liars"), [(3, 1), (5, 1), (5, 2), (8, 2)])
def test_complaints_of_a_minority_cost_nothing(count: int, liars: int) -> None:
    """Two of 16 that had all shares made anew by one after another made every round 4.8 times as long."""
    accomplices = frozenset(range(count - liars, count))
    series = series_of(count, hostile.Complains, place=count - 1, accomplices=accomplices)
    took = series.rounds(count)
    assert all_finish(series)
    assert all(outcome.versions == (0,) * count for result in series.results for outcome in result.outcomes)
    assert max(took) < 1.1 * honest_s(count)


@pytest.mark.parametrize("count", [4, 5])
def test_two_colluding_complainers_exclude_no_honest_member(count: int) -> None:
    """They cost the deadline until each leader knows them; the reducer's share is made by others, its part counts."""
    liars = frozenset({count - 2, count - 1})
    series = series_of(count, hostile.complains_of(0), place=count - 1, accomplices=liars)
    leaders = len(series.honest)
    took = series.rounds(3 * leaders)
    assert all_finish(series)
    outcomes = [outcome for result in series.results for outcome in result.outcomes]
    named = {series.peers[liar] for liar in liars}
    assert {outcome.versions[1:] for outcome in outcomes} == {(0,) * (count - 1)}
    assert all(peer in named for outcome in outcomes for peer, _ in outcome.missing)
    assert max(took) < due_s(Stage.COMPLETE, count) + 2 * honest_s(count)
    assert max(took[2:]) < min(took[:2])
    for leader in series.honest:
        plan = series.plan(leader)
        assert plan.chunks[0] > 0
        assert {member.peer for member in plan.members if member.spared} <= named
        left = {other: seconds_left(series, leader, other) for other in range(count)}
        assert max(left[liar] for liar in liars) < min(left[other] for other in series.honest)


@pytest.mark.parametrize("count", [3, 5])
def test_member_with_false_votes_costs_each_leader_one_round(count: int) -> None:
    series = series_with(hostile.slanders(Random(1)), count)
    leaders = count - 1
    took = series.rounds((REST_ROUNDS + 2) * leaders)
    assert all_finish(series)
    assert min(took[:leaders]) > 1.05 * honest_s(count), "means are given again"
    assert max(took[leaders : REST_ROUNDS * leaders]) < 1.2 * honest_s(count)
    assert max(took[(REST_ROUNDS + 1) * leaders :]) > 1.05 * honest_s(count), "it may come back, and is tried again"


@pytest.mark.parametrize("count", [3, 5])
def test_reducer_that_lies_to_one_member_costs_few_rounds(count: int) -> None:
    """Each leader that it lies to knows it then; others are given its means by their leader."""
    series = series_with(hostile.cheats(Random(1)), count)
    leaders = count - 1
    took = series.rounds((REST_ROUNDS + 2) * leaders)
    assert all_finish(series)
    assert sorted(took)[len(took) // 2] < 1.25 * honest_s(count)
    assert max(took) < 1.6 * honest_s(count), "a share is made anew where the leader is lied to"


def test_a_member_lied_about_once_reduces_again_and_may_vote() -> None:
    series = series_with(hostile.cheats(Random(1)), 4)
    series.round(0)
    assert [member.spared for member in series.plan(0).members] == [False, False, False, True]
    series.kind = None
    for _ in range(REST_ROUNDS):
        series.round(0)
    assert series.plan(0).chunks[3] > 0
    assert not series.ledgers[series.peers[0]].remembered(series.peers, series.now).vote_ignored


def test_a_slow_line_that_plans_know_is_no_offence() -> None:
    series = series_of(4, lines=[line(), line(), line(), line(0.2)])
    series.rounds(4)
    assert all_finish(series)
    assert all(seconds_left(series, 0, member) == seconds_left(series, 0, 0) for member in range(4))
    assert not any(outcome.missing for result in series.results for outcome in result.outcomes)


@pytest.mark.parametrize("kind", [None, hostile.mute, hostile.slow_parts(100.0)], ids=["honest", "mute", "slow parts"])
def test_line_too_slow_for_the_round_makes_no_round_fail(kind: Kind | None) -> None:
    """Nobody was late before the round was over, so each one failed, and was held against its leader."""
    lines = [*[line()] * 3, line(0.02)] if kind is None else []
    series = series_of(4, kind, place=3, lines=lines, rates=[RATE] * 3 + [Rates(1, 1)])
    took = [series.round(number % 3).seconds for number in range(4)]
    assert all(len(result.outcomes) >= 3 for result in series.results)
    assert max(took[1:]) < 5 * honest_s(4)
    assert all(series.ledgers[peer].may_lead(peer, series.now) for peer in series.peers[:3])


def test_slow_line_unknown_to_plans_is_left_behind() -> None:
    series = series_of(MEMBERS, lines=[*[line()] * (MEMBERS - 1), line(0.1)], rates=[RATE] * MEMBERS)
    series.rounds(2)
    assert seconds_left(series, 0, MEMBERS - 1) < seconds_left(series, 0, 1)


@pytest.mark.long
@pytest.mark.parametrize(
    ("mechanism", "scenario"),
    [
        (Mechanism.DEADLINES, "parts in 100 s"),
        (Mechanism.REPAIR, "starves one for ever"),
        (Mechanism.PATIENCE, "parts in 100 s"),
        (Mechanism.NO_SHARES, "means in 100 s"),
        (Mechanism.IGNORED_VOTES, "slanders a reducer"),
    ],
)
def test_each_mechanism_saves_time_in_its_scenario(mechanism: Mechanism, scenario: str) -> None:
    with_it, without_it = report_of(scenario), report_of(scenario, mechanism)
    assert without_it.seconds > 1.05 * with_it.seconds or without_it.failed > with_it.failed


def test_what_is_switched_off_is_on_again_afterwards() -> None:
    before = Timetable(0.0, 1.0, 1.0, 10.0).due_at(Stage.PARTS, 0, 0.0)
    with switched_off(frozenset(Mechanism)):
        assert Timetable(0.0, 1.0, 1.0, 10.0).due_at(Stage.PARTS, 0, 0.0) > 1e9
    assert Timetable(0.0, 1.0, 1.0, 10.0).due_at(Stage.PARTS, 0, 0.0) == before
