"""A coordinator that reducers lie to is as sure of itself as of what it holds: it excludes others, never itself."""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from core.averaging.commit.fingerprints import Fingerprints, Vote
from core.averaging.messages import Mean, Part
from core.averaging.penalties import Kind
from core.base.machine import Received, Send
from tests.unit.averaging.clipped import clipped_round, honest_ends, true_means
from tests.unit.averaging.liars import corrupt

VOTES_MOST = 200
"""More than any member casts in a round."""


@pytest.fixture(autouse=True)
def _bounded_votes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A member that votes for ever fails, instead of keeping its process from all else."""
    made, votes = Fingerprints.make, 0

    def make(self: Fingerprints, nonces: Any, *, by: int) -> Vote | None:
        nonlocal votes
        votes += 1
        assert votes < VOTES_MOST, "a member votes again and again"
        return made(self, nonces, by=by)

    monkeypatch.setattr(Fingerprints, "make", make)


def another_mean_for(victim: Any, share: int) -> Callable[[Send[Any], float], list[Any]]:
    """A reducer that gives one member another mean."""

    def says(send: Send[Any], now: float) -> list[Any]:
        mean = send.message
        if not isinstance(mean, Mean) or mean.share != share or send.to != victim:
            return [send]
        payload = (np.frombuffer(mean.payload, "<f4") * np.float32(1.01)).astype("<f4").tobytes()
        return [Send(send.to, msgspec.structs.replace(mean, payload=memoryview(payload)))]

    return says


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_reducers_that_lie_to_the_coordinator_cost_nobody_the_round(count: int, *, signed: bool) -> None:
    """With two of them it excluded itself, and voted for ever."""
    round_ = clipped_round(8, signed=signed)
    leader = round_.plan.leaders[0]
    liars = frozenset([place for place in range(8) if place != leader][:count])
    for liar in liars:
        corrupt(round_, liar, another_mean_for(round_.plan.peers[leader], liar))
    round_.run()
    ends = honest_ends(round_, liars)
    assert len({end.outcome.fingerprint for end in ends}) == 1
    assert all(end.outcome.versions[liar] for end in ends for liar in liars)
    np.testing.assert_allclose(round_.results[leader], true_means(round_), rtol=0, atol=1e-5)
    seen = [end.outcome.seen for end in ends if end.outcome.seen.get(Kind.DOUBTED)]
    assert [one[Kind.DOUBTED] for one in seen] == [frozenset(round_.plan.peers[liar] for liar in liars)]


def test_reducers_that_leave_the_coordinator_out_cost_nobody_the_round() -> None:
    """It brought more than a third of all samples; a second liar makes the share of the first, and does the same."""
    leader = clipped_round(5).plan.leaders[0]
    round_ = clipped_round([24 if place == leader else 10 for place in range(5)])
    assert round_.plan.leaders[0] == leader
    liars = frozenset([place for place in range(5) if place != leader][:2])

    def hears(event: Received[Any]) -> Received[Any]:
        part = event.message
        if not isinstance(part, Part) or not part.payload.nbytes or event.sender != round_.plan.peers[leader]:
            return event
        payload = memoryview(np.full(part.payload.nbytes // 4, np.nan, dtype="<f4").tobytes())
        return Received(event.sender, msgspec.structs.replace(part, payload=payload))

    for liar in liars:
        corrupt(round_, liar, hears=hears)
    round_.run()
    ends = honest_ends(round_, liars)
    assert len({end.outcome.fingerprint for end in ends}) == 1
    assert all(round_.plan.peers[leader] not in dict(end.outcome.missing) for end in ends)
