"""Parts that are far larger than the others' count with a multiple of their median, and monsters not at all."""

from typing import Any

import msgspec
import numpy as np
import pytest

from core.averaging.aggregators import NORM_FACTOR, TYPICAL_PART, norm_bound
from core.averaging.allreduce import reducer
from core.averaging.outcome import RoundFinished
from core.averaging.plan import Plan
from core.base.bounds import NORM_MAX
from core.codecs.codec import norm_of
from tests.unit.averaging.liars import ends
from tests.unit.averaging.pump import Round, make_plan

CHUNK = 64


def averaged(liars: dict[int, float], *, members: int = 5, plan: Plan | None = None) -> tuple[Round, list[Any]]:
    """A round in which the numbers of some members are so many times too large."""
    round_ = Round(plan or make_plan([10] * members, CHUNK * members, chunk_numel=CHUNK))
    round_.vectors.flags.writeable = True
    for liar, times in liars.items():
        round_.vectors[liar] *= np.float32(times)
    return round_.run(), [end.outcome for end in ends(round_).values()]


def honest_norm(round_: Round) -> float:
    return max(float(np.linalg.norm(row)) for row in round_.before)


@pytest.mark.parametrize("liars", [(0,), (1, 4)])
@pytest.mark.parametrize("times", [1e3, 1e9, 1e15])
def test_large_parts_of_two_in_five_are_scaled_down(liars: tuple[int, ...], times: float) -> None:
    round_, outcomes = averaged(dict.fromkeys(liars, times))
    assert len(outcomes) == 5
    exact = round_.before[[m for m in range(5) if m not in liars]].sum(axis=0) / 5
    weight = len(liars) / 5
    for result in round_.results:
        assert np.linalg.norm(result - exact) <= weight * NORM_FACTOR * honest_norm(round_)
        assert result.tobytes() == round_.results[0].tobytes()
    assert all(not outcome.missing for outcome in outcomes)
    scaled = {place: end.outcome.own_scaled for place, end in enumerate(ends(round_).values())}
    assert {place for place, chunks in scaled.items() if chunks} == set(liars)


def with_a_monster(bad: float, members: int) -> Round:
    """A round in which one member's numbers are all like this."""
    round_ = Round(make_plan([10] * members, CHUNK * members, chunk_numel=CHUNK))
    round_.vectors.flags.writeable = True
    round_.vectors[1] = bad
    return round_.run()


@pytest.mark.parametrize("bad", [1e30, 3.4e38, np.inf, np.nan])
@pytest.mark.parametrize("members", [2, 5])
def test_monsters_are_left_out_and_named(bad: float, members: int, monkeypatch: pytest.MonkeyPatch) -> None:
    round_ = with_a_monster(bad, members)
    exact = round_.before[[m for m in range(members) if m != 1]].mean(axis=0)
    for end in ends(round_).values():
        assert dict(end.outcome.missing) == {round_.plan.peers[1]: round_.plan.chunk_total}
    np.testing.assert_allclose(round_.results[0], exact, rtol=1e-5, atol=1e-6)
    monkeypatch.setattr(reducer, "norm_of", lambda _: 1.0)
    spoiled = with_a_monster(bad, members)
    finished = [isinstance(end, RoundFinished) for end in ends(spoiled).values()]
    assert not any(finished) or float(np.abs(spoiled.results[0]).max()) > 1e29, "where nobody measures norms"


def test_three_in_five_are_the_measure_themselves() -> None:
    round_, _ = averaged({0: 1e6, 1: 1e6, 2: 1e6})
    assert np.linalg.norm(round_.results[0]) > 1e5


def test_two_parts_have_no_measure() -> None:
    round_, _ = averaged({1: 1e6}, members=2)
    assert np.linalg.norm(round_.results[0]) > 1e5


@pytest.mark.parametrize("times", [0.0, 1e-9])
def test_small_parts_of_two_in_five_cut_nobody(times: float) -> None:
    round_, outcomes = averaged({0: times, 3: times})
    exact = round_.vectors.mean(axis=0)
    np.testing.assert_allclose(round_.results[0], exact, rtol=1e-5, atol=1e-6)
    assert not any(outcome.own_scaled for outcome in outcomes)


def test_chunk_that_few_have_met_is_measured_by_whole_contributions() -> None:
    plan = make_plan([10] * 5, CHUNK * 5, chunk_numel=CHUNK)
    rows = tuple(msgspec.structs.replace(row, norm=18.0) for row in plan.members)
    plan = msgspec.structs.replace(plan, members=rows)
    round_ = Round(plan)
    round_.vectors.flags.writeable = True
    round_.vectors[:, :CHUNK] = 0
    round_.vectors[2, :CHUNK] = 1.0
    expected = round_.vectors.mean(axis=0)
    round_.run()
    np.testing.assert_allclose(round_.results[0], expected, rtol=1e-5, atol=1e-6)


def test_bound_follows_from_the_upper_median() -> None:
    assert norm_bound([1.0, 2.0], typical=1.0) == np.inf
    assert norm_bound([1.0, 2.0, 99.0], typical=0.0) == NORM_FACTOR * 2.0
    assert norm_bound([1.0, 2.0, 3.0, 99.0], typical=0.0) == NORM_FACTOR * 3.0
    assert norm_bound([0.0, 0.0, 3.0], typical=4.0) == NORM_FACTOR * TYPICAL_PART * 4.0
    assert norm_bound([0.0, 0.0, 3.0], typical=0.0) == np.inf


def test_norm_tells_what_is_no_number() -> None:
    assert norm_of(np.array([3, 4], dtype=np.float32)) == 5
    for bad in (np.nan, np.inf, -np.inf, 1e30):
        assert not norm_of(np.array([1, bad], dtype=np.float32)) <= NORM_MAX
