"""A member whose vote differs takes the coordinator's means, and then it is known who lied."""

from typing import Any

import msgspec
import numpy as np
import pytest

from core.averaging.aggregators import WeightedMean
from core.averaging.allreduce.lane import Lane, Lanes
from core.averaging.allreduce.share_map import ShareMap
from core.averaging.allreduce.vectors import RoundContext, Vectors
from core.averaging.butterfly import RoundInput
from core.averaging.commit.fingerprints import Fingerprints, plan_name
from core.averaging.messages import Mean, Status
from core.averaging.outcome import RoundFailed
from core.averaging.penalties import Kind
from core.base.machine import Send, Trace
from core.codecs.registry import CODECS
from tests.unit.averaging.liars import corrupt, ends, finished
from tests.unit.averaging.pump import Round, make_plan
from tests.unit.averaging.test_fingerprints import other_contributors, other_payload


@pytest.mark.parametrize("twist", [other_payload, other_contributors])
@pytest.mark.parametrize("liar", [0, 1, 2, 3])
def test_reducer_that_lies_to_one_member_is_named_by_it(twist: Any, liar: int) -> None:
    """All but one chunk of one share of one member are right: that member gets the coordinator's means.

    A coordinator that lies itself leaves it out.
    """
    round_ = Round(make_plan([3, 4, 5, 6], 16 * 24))
    victim = round_.plan.peers[(liar + 1) % 4]

    def says(send: Send[Any], now: float) -> list[Any]:
        word = send.message
        split = isinstance(word, Mean) and send.to == victim and word.share == liar and word.chunk == 2
        return [Send(send.to, twist(word)) if split else send]

    name = corrupt(round_, liar, says)
    round_.run()
    if liar == round_.plan.leaders[0]:
        end = ends(round_)[victim]
        assert isinstance(end, RoundFailed)
        assert end.suspects == (name,)
        return
    first, *rest = finished(round_, but=name)
    assert {(o.fingerprint, o.contributors, o.present) for o in rest} == {
        (first.fingerprint, first.contributors, first.present)
    }
    rows = {row.tobytes() for index, row in enumerate(round_.results) if index != liar}
    assert len(rows) == 1
    named = {(kind, peer) for one in (first, *rest) for kind, peers in one.seen.items() for peer in peers}
    assert named == {(Kind.DOUBTED if victim == round_.plan.leader else Kind.LATE, name)}
    assert round_.pump.now - round_.began < round_.plan.stall_timeout_s


@pytest.mark.parametrize("liar", [0, 1, 2])
@pytest.mark.parametrize("differs", [range(4), range(1), range(3, 4)])
def test_false_vote_costs_no_share(liar: int, differs: range) -> None:
    round_ = Round(make_plan([3, 4, 5, 6], 16 * 24))
    leader = round_.plan.leaders[0]
    liar = [m for m in range(4) if m != leader][liar]

    def says(send: Send[Any], now: float) -> list[Any]:
        word = send.message
        if isinstance(word, Status) and word.fingerprints:
            fingerprints = tuple(b"x" * 16 if share in differs else one for share, one in enumerate(word.fingerprints))
            send = Send(send.to, msgspec.structs.replace(word, fingerprints=fingerprints))
        return [send]

    name = corrupt(round_, liar, says)
    round_.run()
    first, *rest = finished(round_, but=name)
    assert {outcome.fingerprint for outcome in rest} == {first.fingerprint}
    assert not any(first.versions)
    named = {(kind, peer) for one in (first, *rest) for kind, peers in one.seen.items() for peer in peers}
    assert named == (set() if len(differs) > 2 else {(Kind.DIFFERED, name)}), "it was given the means"
    assert round_.pump.now - round_.began < round_.plan.stall_timeout_s


@pytest.mark.parametrize("other", [True, False])
def test_reducer_is_named_if_the_coordinator_holds_other_means(*, other: bool) -> None:
    """A coordinator that only says so names nobody."""
    plan = make_plan([3, 4, 5], 16 * 9)
    shares, codec = ShareMap(plan), CODECS["raw"]
    vectors = Vectors(shares, 0, RoundInput(np.zeros(plan.numel, np.float32), np.zeros(plan.numel, np.float32), codec))
    context = RoundContext(shares, 0, vectors, WeightedMean(), Trace())
    lanes = Lanes(Lane(share, count, window=1, now=0.0) for share, count in enumerate(shares.counts))
    votes = Fingerprints(context, plan_name(plan), lanes, secret=b"secret")
    nonce = votes.nonce
    vote = votes.make((nonce, b"r" * 8, b"s" * 8), by=1)
    assert vote is not None
    said = (b"", vote.fingerprints[1], b"x" * 16)
    assert votes.give_up((nonce,) * 3, said) == [], "under other nonces"
    assert votes.give_up(vote.nonces, said) == [2]
    assert votes.vote is None
    assert votes.nonce != nonce
    lanes[2].repair(1, 0.0)
    if other:
        vectors.mean(shares.first[2])[0] = 1.0
    assert votes.make(vote.nonces, by=1) is None, "the key may be known"
    assert votes.make((votes.nonce, *vote.nonces[1:]), by=1) is not None
    assert votes.liars == ({2} if other else set())
