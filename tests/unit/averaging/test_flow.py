"""Portions, helpers and sums that depend on nothing but who is in them."""

import msgspec
import numpy as np
import pytest

from core.averaging.allreduce.share_map import ShareMap
from core.averaging.butterfly import Butterfly, RoundInput
from core.averaging.outcome import Outcome, RoundFinished
from core.base.machine import Trace
from core.codecs.registry import CODECS
from tests.unit.averaging.pump import Round, make_plan


def outcomes(round_: Round) -> list[Outcome]:
    return [e.outcome for events in round_.pump.events.values() for e in events if isinstance(e, RoundFinished)]


def test_portion_counts_as_partial_contribution_and_not_as_a_loss() -> None:
    plan = msgspec.structs.replace(make_plan([3, 5, 2], 16 * 300), portions=(256, 100, 0))
    round_ = Round(plan).run()
    giving = ShareMap(plan)
    first, *rest = outcomes(round_)
    assert len(rest) == 2
    assert not first.missing
    assert dict(first.contributors) == {plan.peers[0]: 3, plan.peers[1]: 5}
    for chunk in range(plan.chunk_total):
        members = [m for m in range(3) if giving.gives(m, chunk)]
        weights = [plan.members[m].samples for m in members]
        span = plan.span(chunk)
        expected = np.average(round_.before[members, span].astype(np.float64), axis=0, weights=weights)
        np.testing.assert_allclose(round_.results[2][span], expected, rtol=0, atol=1e-6)
    given = sum(giving.gives(1, chunk) for chunk in range(plan.chunk_total))
    assert given == giving.planned[1]
    assert first.present == (plan.chunk_total, given)
    assert dict(first.credited) == {plan.peers[0]: 3, plan.peers[1]: 5 * given // plan.chunk_total}


@pytest.mark.parametrize("helper", [0, 1, 2, 3])
def test_helper_reduces_without_vectors(helper: int) -> None:
    samples = [4, 5, 6, 7]
    samples[helper] = 0
    plan = make_plan(samples, 16 * 40)
    members = list(plan.members)
    members[helper] = msgspec.structs.replace(members[helper], receives=False)
    plan = msgspec.structs.replace(plan, members=tuple(members))
    round_ = Round(plan)
    me = plan.peers[helper]
    machine = Butterfly(me, plan, RoundInput(None, None, CODECS[plan.codec]), trace=Trace())
    round_.machines[me] = machine
    round_.pump.run()
    ended = outcomes(round_)
    assert len(ended) == 4
    assert len({(o.fingerprint, o.contributors, o.present, o.loss) for o in ended}) == 1
    others = [m for m in range(4) if m != helper]
    expected = np.average(round_.before[others].astype(np.float64), axis=0, weights=[samples[m] for m in others])
    for m in others:
        np.testing.assert_allclose(round_.results[m], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("codec", sorted(CODECS))
def test_mean_depends_on_neither_reducers_nor_order_of_arrival(codec: str) -> None:
    plan = make_plan([3, 5, 2, 9], 16 * 40, codec=codec)
    other = msgspec.structs.replace(plan, chunks=(40, 0, 0, 0))
    rows = [Round(p, seed=7).run().results[0].tobytes() for p in (plan, other)]
    round_ = Round(plan, seed=7, delay_s=(0.0, 0.3)).run()
    assert len({*rows, *(row.tobytes() for row in round_.results)}) == 1


def test_helpers_that_fall_silent_cost_nobody_the_round() -> None:
    """More helpers than trainers: of one house, or of one person with as many passes."""
    trainers, helpers = range(3), range(3, 7)
    plan = make_plan([5] * 3 + [0] * 4, 16 * 70)
    rows = [*plan.members[:3], *(msgspec.structs.replace(row, receives=False) for row in plan.members[3:])]
    leaders = (*trainers, *helpers)
    plan = msgspec.structs.replace(plan, members=tuple(rows), leaders=leaders)
    round_ = Round(plan)
    for place in helpers:
        work = RoundInput(None, None, CODECS[plan.codec])
        round_.machines[plan.peers[place]] = Butterfly(plan.peers[place], plan, work, trace=Trace())
    round_.pump.run(until=round_.pump.now + 0.01)
    round_.pump.frozen |= {plan.peers[place] for place in helpers}
    round_.pump.run()
    expected = np.average(round_.before[:3].astype(np.float64), axis=0)
    for place in trainers:
        [end] = round_.pump.events[plan.peers[place]]
        assert isinstance(end, RoundFinished)
        np.testing.assert_allclose(round_.results[place], expected, rtol=0, atol=1e-6)
