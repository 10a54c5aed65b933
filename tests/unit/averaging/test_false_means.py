"""A reducer that multiplies the means of its share: they never become the others' mean."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest

from core.averaging.aggregators import Vector, WeightedMean
from core.averaging.allreduce.vectors import Vectors
from core.averaging.butterfly import Butterfly, RoundInput
from core.averaging.outcome import RoundFinished
from core.averaging.penalties import Kind
from core.base.machine import Trace
from core.codecs.registry import codec_of
from tests.unit.averaging.liars import ends
from tests.unit.averaging.pump import Round, make_plan

CHUNK = 64
LIAR = 1


class Multiplied(WeightedMean):
    """A weighted mean so many times too large."""

    def __init__(self, times: float) -> None:
        self.times = times

    def aggregate(self, weights: Sequence[float], parts: Iterable[Vector], out: Vector, *known: Any) -> float:
        radius = super().aggregate(weights, parts, out, *known)
        out *= np.float32(self.times)
        return radius


def lied(members: int, times: float) -> Round:
    """A round in which the means of one share are so many times too large, also for the member that makes them."""
    plan = make_plan([10] * members, 2 * CHUNK * members, chunk_numel=CHUNK)
    rows = tuple(msgspec.structs.replace(row, norm=plan.numel**0.5) for row in plan.members)
    round_ = Round(msgspec.structs.replace(plan, members=rows))
    peer, codec = round_.plan.peers[LIAR], codec_of(plan.codec, (plan.numel,))
    work = RoundInput(round_.vectors[LIAR], round_.results[LIAR], codec, aggregator=Multiplied(times))
    round_.machines[peer] = Butterfly(peer, round_.plan, work, trace=Trace())
    return round_.run()


@pytest.mark.parametrize("times", [1e3, -1e3, 1e30])
@pytest.mark.parametrize("members", [3, 4, 8])
def test_a_mean_that_no_parts_can_have_is_made_anew(members: int, times: float) -> None:
    round_, liar = lied(members, times), LIAR
    exact = round_.before.mean(axis=0)
    honest = [end for peer, end in ends(round_).items() if peer != round_.plan.peers[liar]]
    assert len(honest) == members - 1
    for place, end in enumerate(honest):
        assert isinstance(end, RoundFinished)
        assert end.outcome.seen[Kind.LATE] == frozenset({round_.plan.peers[liar]})
        np.testing.assert_allclose(round_.results[place if place < liar else place + 1], exact, rtol=1e-4, atol=1e-5)


def test_without_the_bound_everybody_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Vectors, "may_be_norm", lambda *_: True)
    round_ = lied(4, 1e3)
    assert float(np.linalg.norm(round_.results[0])) > 100 * float(np.linalg.norm(round_.before.mean(axis=0)))
