"""Members that accuse others of false sums, in ways that cost most: the round ends, and they pay for it."""

import math
from typing import Any

import msgspec
import numpy as np
import pytest

from core.averaging.commit.proof import ROUNDED
from core.averaging.messages import Mean, Part, Status
from core.averaging.penalties import Kind
from core.base.machine import Received, Send
from tests.unit.averaging.clipped import Rows, clipped_round, honest_ends, true_means
from tests.unit.averaging.liars import corrupt, telling


@pytest.mark.parametrize("members", [4, 8, 16])
def test_member_that_accuses_one_reducer_after_another_is_named(members: int) -> None:
    """It tells the truth of what the coordinator has made; without a bound a round of 16 failed, and it was unnamed."""
    round_ = clipped_round(members)
    leader, accuser = round_.plan.leaders[0], round_.plan.leaders[1]

    def one(word: Status, told: Rows) -> Rows:
        others = [share for share in range(members) if word.reducers[share] not in {leader, accuser}]
        told[others[:1]] *= -1
        return told

    corrupt(round_, accuser, telling(round_, accuser, one))
    round_.run()
    honest = [place for place in range(members) if place != accuser]
    for place, end in zip(honest, honest_ends(round_, frozenset({accuser})), strict=True):
        assert max(end.outcome.versions) <= 2
        if place == leader:
            assert end.outcome.seen[Kind.DIFFERED] == {round_.plan.peers[accuser]}
            assert not end.outcome.seen.get(Kind.DOUBTED), "its word is known for a lie"


def test_lie_behind_anothers_silence_has_no_reducer_doubted() -> None:
    """One dies when it has given its part to a share that is made anew: what it could have pulled hides the lie."""
    round_ = clipped_round(16)
    leader, accuser, silent, target = round_.plan.leaders[:4]

    def smaller(_: Status, told: Rows) -> Rows:
        told[target] *= 0.5
        return told

    def dies(send: Send[Any], _: float) -> list[Any]:
        return [] if isinstance(send.message, Status) and any(send.message.versions) else [send]

    corrupt(round_, accuser, telling(round_, accuser, smaller))
    corrupt(round_, silent, dies)
    round_.run()
    liars = frozenset({accuser, silent})
    outcomes = dict(zip(sorted({*range(16)} - liars), honest_ends(round_, liars), strict=True))
    assert outcomes[leader].outcome.versions[target] == 1
    assert not outcomes[leader].outcome.seen.get(Kind.DOUBTED)


@pytest.mark.parametrize("members", [5, 8, 16])
@pytest.mark.parametrize("codec", ["raw", "fp16"])
def test_two_that_lie_a_little_together_fail_no_round(members: int, codec: str) -> None:
    """Each is off by less than what is rounded; the coordinator was held for the liar."""
    round_ = clipped_round(members, codec=codec)
    leader, *accusers = round_.plan.leaders[:3]
    target = round_.plan.leaders[3]

    radii: dict[int, float] = {}

    def listening(event: Received[Any]) -> Received[Any]:
        if isinstance(event.message, Mean) and event.message.share == target:
            radii[event.message.chunk] = event.message.radius
        return event

    def a_little(_: Status, told: Rows) -> Rows:
        radius = math.hypot(*radii.values())
        told[target] += 0.97 * ROUNDED * radius * np.where(np.arange(told.shape[1]) % 2, 1, -1)
        return told

    for accuser in accusers:
        corrupt(round_, accuser, telling(round_, accuser, a_little), hears=listening)
    round_.run()
    for place, end in zip(
        sorted({*range(members)} - {*accusers}), honest_ends(round_, frozenset(accusers)), strict=True
    ):
        if place == leader:
            assert end.outcome.seen[Kind.DIFFERED] < {round_.plan.peers[accuser] for accuser in accusers}


@pytest.mark.parametrize(("members", "liars"), [(5, (0, 1)), (8, (0, 1, 3))])
def test_reducers_that_leave_a_minority_out_exclude_nobody(members: int, liars: tuple[int, ...]) -> None:
    """Two of five had the others' parts taken out of all shares, so that the mean was theirs."""
    round_ = clipped_round(members)
    leader = round_.plan.leaders[0]
    assert leader not in liars
    victims = [place for place in range(members) if place not in {leader, *liars}][: len(liars)]

    def without_them(event: Received[Any]) -> Received[Any]:
        word = event.message
        if not isinstance(word, Part) or event.sender not in {round_.plan.peers[one] for one in victims}:
            return event
        return Received(event.sender, msgspec.structs.replace(word, payload=memoryview(bytes(3))))

    for liar in liars:
        corrupt(round_, liar, hears=without_them)
    round_.run()
    exact = true_means(round_)
    for end in honest_ends(round_, frozenset(liars)):
        assert len(end.outcome.contributors) == members
        assert not end.outcome.left_out
    np.testing.assert_allclose(round_.results[leader], exact, rtol=0, atol=0.05)
