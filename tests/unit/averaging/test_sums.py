"""False words about sums help nobody, and cost who tells them."""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from core.averaging.aggregators import CenteredClip
from core.averaging.butterfly import Butterfly, RoundInput
from core.averaging.commit.fingerprints import plan_name
from core.averaging.commit.judgement import Judgement, Ruling
from core.averaging.commit.projections import Projection, root_mean_square
from core.averaging.commit.proof import SPREAD
from core.averaging.messages import Commit, Mean, Order, Status
from core.averaging.outcome import RoundFailed, RoundFinished
from core.averaging.penalties import Kind
from core.base.ids import PeerId, hashed_key
from core.base.machine import Received, Send, Trace
from core.base.signing import Ed25519Verifier, Signing
from core.codecs.registry import codec_of
from tests.unit.averaging.clipped import LIAR, LIES, Lying, Rows, clipped_round, honest_ends, others, true_means
from tests.unit.averaging.liars import corrupt, ends, telling
from tests.unit.averaging.pump import Pump, Round, with_keys


def in_share(share: int, times: float) -> Callable[[Rows], Rows]:
    def change(told: Rows) -> Rows:
        told[share] *= np.float32(times)
        return told

    return change


FALSE_SUMS: dict[str, Callable[[Rows], Any]] = {
    "turned in one share": in_share(0, -1.0),
    "all of one share are zero": in_share(0, 0.0),
    "turned in all": lambda told: -told,
    "not a number": lambda told: told * np.nan,
    "huge": lambda told: told + 1e30,
    "too few": lambda told: told[:1],
    "none": lambda told: told[:0],
}


@pytest.mark.parametrize("change", FALSE_SUMS)
@pytest.mark.parametrize("members", [4, 8])
def test_a_member_that_tells_false_sums_is_left_behind(members: int, change: str) -> None:
    round_ = clipped_round(members)
    liar = round_.plan.leaders[1]
    corrupt(round_, liar, telling(round_, liar, lambda _, told: FALSE_SUMS[change](told)))
    round_.run()
    exact = true_means(round_)
    coordinator = round_.plan.leaders[0]
    for place, end in zip(others(round_, liar), honest_ends(round_, frozenset({liar})), strict=True):
        np.testing.assert_allclose(round_.results[place], exact, rtol=0, atol=1.5)
        if place == coordinator:
            assert round_.plan.peers[liar] in end.outcome.seen[Kind.DIFFERED]
            assert end.outcome.seen[Kind.DIFFERED] == {round_.plan.peers[liar]}


def test_false_sums_are_known_at_the_second_making() -> None:
    """Another reducer cannot be told from the member: the coordinator makes the share itself, and knows."""
    round_ = clipped_round(8)
    coordinator, liar, share = round_.plan.leaders[0], 5, 6  # members before the coordinator make shares anew first
    corrupt(round_, liar, telling(round_, liar, lambda _, told: in_share(share, -1.0)(told)))
    round_.run()
    ends = honest_ends(round_, frozenset({liar}))
    assert {end.outcome.versions[share] for end in ends} == {2}
    seen = ends[others(round_, liar).index(coordinator)].outcome.seen
    assert seen[Kind.DIFFERED] == {round_.plan.peers[liar]}


def test_a_coordinator_that_proves_nothing_commits_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Judgement, "on", lambda *_: Ruling(commits=True))
    round_ = clipped_round(4)
    leader = round_.plan.leaders[0]
    work = RoundInput(
        round_.vectors[leader],
        round_.results[leader],
        codec_of("raw", (round_.plan.numel,)),
        aggregator=Lying(LIES["turned"]),
        identity=Signing(with_keys(round_.plan)[1][leader], Ed25519Verifier()),
    )
    round_.machines[round_.plan.peers[leader]] = Butterfly(round_.plan.peers[leader], round_.plan, work, trace=Trace())
    round_.run()
    found = [end for peer, end in ends(round_).items() if peer != round_.plan.peers[leader]]
    assert len(found) == 3
    assert all(isinstance(end, RoundFailed) for end in found)
    assert any(round_.plan.peers[leader] in end.suspects for end in found if isinstance(end, RoundFailed))


@pytest.mark.parametrize("members", [3, 4, 8])
def test_a_death_before_the_vote_costs_nobody_the_round(members: int) -> None:
    round_ = clipped_round(members)
    dead = round_.plan.leaders[-1]

    start = round_.pump.before

    def before(pump: Pump, peer: PeerId, event: Any) -> None:
        asked = isinstance(event, Received) and isinstance(event.message, Order) and event.message.nonces
        if asked and round_.plan.peers[dead] not in pump.dead:
            pump.kill(round_.plan.peers[dead])
        assert start is not None
        start(pump, peer, event)

    round_.pump.before = before
    round_.run()
    exact = true_means(round_)
    for place, end in zip(others(round_, dead), honest_ends(round_, frozenset({dead})), strict=True):
        np.testing.assert_allclose(round_.results[place], exact, rtol=0, atol=1.5)
        assert not end.outcome.seen.get(Kind.DOUBTED)
        assert len(end.outcome.contributors) == (2 if members == 3 else members), "a third could hide any mean"


@pytest.mark.parametrize("clip", [0.25, 4.0])
def test_a_reducer_that_clips_elsewhere_loses_its_share(clip: float) -> None:
    round_ = clipped_round(8, aggregators={LIAR: CenteredClip(clip)})
    round_.run()
    for end in honest_ends(round_, frozenset({LIAR})):
        assert end.outcome.versions[LIAR]


@pytest.mark.parametrize("told", ["of nobody", "of another"])
def test_a_coordinator_changes_nobodys_sums(told: str) -> None:
    round_ = clipped_round(8)
    leader, victim = round_.plan.leaders[0], round_.plan.leaders[3]

    def says(send: Send[Any], now: float) -> list[Any]:
        word = send.message
        if not isinstance(word, Commit):
            return [send]
        words = list(word.told)
        words[victim] = (b"", b"") if told == "of nobody" else words[leader]
        return [Send(send.to, msgspec.structs.replace(word, told=tuple(words)))]

    corrupt(round_, leader, says)
    round_.run()
    of = ends(round_)
    failed = [place for place, peer in enumerate(round_.plan.peers) if isinstance(of[peer], RoundFailed)]
    assert failed == [victim] if told == "of nobody" else set(failed) == set(range(8)) - {leader}
    for place in failed:
        end = of[round_.plan.peers[place]]
        assert isinstance(end, RoundFailed)
        assert end.suspects in {(), (round_.plan.peers[leader],)}


@pytest.mark.parametrize("adds_up", [False, True])
def test_a_reducer_that_blames_a_member_is_doubted(*, adds_up: bool) -> None:
    """It would have one member take the blame for its false mean; where what it says adds up, it is known later."""
    round_ = clipped_round(8, aggregators={LIAR: Lying(LIES["turned"])})
    named = round_.plan.leaders[2] if round_.plan.leaders[2] != LIAR else round_.plan.leaders[3]

    def says(send: Send[Any], now: float) -> list[Any]:
        word = send.message
        if not isinstance(word, Status) or not word.made:
            return [send]
        [(share, sums), *_] = word.made
        should = np.frombuffer(sums, dtype="<f4").reshape(8, -1).copy()
        should[named] -= should.sum(axis=0) if adds_up else -10 * np.abs(should).max()
        return [Send(send.to, msgspec.structs.replace(word, made=((share, should.tobytes()),)))]

    corrupt(round_, LIAR, says)
    round_.run()
    for place, end in zip(others(round_, LIAR), honest_ends(round_, frozenset({LIAR})), strict=True):
        assert end.outcome.versions[LIAR]
        if place == round_.plan.leaders[0]:
            assert end.outcome.seen[Kind.DOUBTED] == {round_.plan.peers[LIAR]}
            assert not end.outcome.seen.get(Kind.DIFFERED)


class Tightened(CenteredClip):
    """A reducer that clips one member's part much nearer than the others'."""

    def __init__(self, victim: int, times: float) -> None:
        super().__init__()
        self._victim, self._times = victim, times

    def aggregate(self, weights: Any, parts: Any, out: Rows, *known: Any) -> float:
        rows = np.array([part.copy() for part in parts])
        radius = super().aggregate(weights, iter(rows.copy()), out, *known)
        radii = np.full(len(rows), radius)
        radii[self._victim] *= self._times
        for _ in range(300):
            pulls = weights * np.minimum(1, radii / np.linalg.norm(rows - out, axis=1))
            out[:] = pulls @ rows / pulls.sum()
        return radius


def test_a_reducer_tells_one_member_no_radius_of_its_own() -> None:
    times, victim = 0.8, 0
    round_ = clipped_round(8, aggregators={LIAR: Tightened(victim, times)})

    def says(send: Send[Any], now: float) -> list[Any]:
        word = send.message
        mine = isinstance(word, Mean) and word.share == LIAR and send.to == round_.plan.peers[victim]
        return [Send(send.to, msgspec.structs.replace(word, radius=times * word.radius)) if mine else send]

    corrupt(round_, LIAR, says)
    round_.run()
    for end in honest_ends(round_, frozenset({LIAR})):
        assert end.outcome.versions[LIAR]


def test_projections_of_a_product_are_no_longer_than_others() -> None:
    """Gradients of a layer are sums of few products, and so are ways of parts from their mean."""
    random = np.random.default_rng(3)
    product = np.outer(random.standard_normal(8), random.standard_normal(256)).ravel().astype(np.float32)
    sizes = [root_mean_square(Projection(key.to_bytes(32, "big"), 0, product.size).of(product)) for key in range(4000)]
    norm = float(np.linalg.norm(product))
    assert max(sizes) < SPREAD * norm
    assert np.mean(np.square(sizes)) == pytest.approx(norm**2, rel=0.05)


def hiding(round_: Round) -> Callable[[Send[Any], float], list[Any]]:
    """A reducer whose own sums make those of its share come to nothing, and that says so."""
    count = len(round_.plan.peers)
    [key] = [key for key in with_keys(round_.plan)[1] if key.peer_id == round_.plan.peers[LIAR]]

    def says(send: Send[Any], now: float) -> list[Any]:
        word = send.message
        if not isinstance(word, Status) or not word.made:
            return [send]
        told = np.frombuffer(word.sums, dtype="<f4").reshape(count, -1).copy()
        (share, made), *_ = word.made
        should = np.frombuffer(made, dtype="<f4").reshape(count, -1).copy()
        should[LIAR] -= should.sum(axis=0)
        told[share] = should[LIAR]
        words = {"sums": told.tobytes(), "made": ((share, should.tobytes()),)}
        bits = hashed_key(b"bits", plan_name(round_.plan), *word.nonces, *word.fingerprints)
        words["signature"] = key.sign(hashed_key(b"sums", bits, told.tobytes()))
        return [Send(send.to, msgspec.structs.replace(word, **words))]

    return says


def test_a_reducer_hides_no_lie_behind_its_own_sums() -> None:
    round_ = clipped_round(8, aggregators={LIAR: Lying(LIES["turned"])})
    corrupt(round_, LIAR, hiding(round_))
    round_.run()
    for end in honest_ends(round_, frozenset({LIAR})):
        assert end.outcome.versions[LIAR] or round_.plan.peers[LIAR] in end.outcome.left_out


def test_a_coordinator_hides_no_lie_behind_the_sums_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """It commits what it has made, and changes what another has told so that it would add up."""
    monkeypatch.setattr(Judgement, "on", lambda *_: Ruling(commits=True))
    leader, victim, *_ = clipped_round(8).plan.leaders
    round_ = clipped_round(8, aggregators={leader: Lying(LIES["a tenth more"])})

    def says(send: Send[Any], now: float) -> list[Any]:
        word = send.message
        if not isinstance(word, Commit):
            return [send]
        told = [np.frombuffer(sums, dtype="<f4").reshape(8, -1) for sums, _ in word.told]
        changed = told[victim].copy()
        changed[leader] -= np.sum([one[leader] for one in told], axis=0)
        words = list(word.told)
        words[victim] = changed.tobytes(), words[victim][1]
        return [Send(send.to, msgspec.structs.replace(word, told=tuple(words)))]

    corrupt(round_, leader, says)
    round_.run()
    of = ends(round_)
    assert not any(isinstance(of[round_.plan.peers[place]], RoundFinished) for place in others(round_, leader))


class Wide(Lying):
    """A reducer that says it has clipped as far off as its false mean is."""

    def aggregate(self, weights: Any, parts: Any, out: Rows, *known: Any) -> float:
        return 15 * super().aggregate(weights, parts, out, *known)


@pytest.mark.parametrize("members", [3, 4, 8])
def test_a_false_mean_makes_no_room_for_a_wide_radius(members: int) -> None:
    round_ = clipped_round(members, aggregators={LIAR: Wide(lambda mean: -9 * mean)})
    corrupt(round_, LIAR, hiding(round_))
    round_.run()
    for end in honest_ends(round_, frozenset({LIAR})):
        assert end.outcome.versions[LIAR]
