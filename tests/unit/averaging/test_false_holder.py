"""A member that says it holds all means, and gives none: what others lack is made anew all the same."""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from core.averaging.messages import NONCE_BYTES, Mean, Status, to_bits
from core.base.machine import Send
from tests.unit.averaging.clipped import clipped_round, honest_ends
from tests.unit.averaging.liars import corrupt


def gives_none(share: int) -> Callable[[Send[Any], float], list[Any]]:
    """A reducer that gives nobody its means."""

    def says(send: Send[Any], now: float) -> list[Any]:
        return [] if isinstance(send.message, Mean) and send.message.share == share else [send]

    return says


def holds_all(send: Send[Any], now: float) -> list[Any]:
    """A member whose Status always has a nonce, as if it held all means."""
    word = send.message
    if not isinstance(word, Status) or word.nonce:
        return [send]
    return [Send(send.to, msgspec.structs.replace(word, nonce=bytes(NONCE_BYTES)))]


@pytest.mark.parametrize("members", [5, 8])
def test_holder_that_gives_nothing_costs_nobody_the_round(members: int) -> None:
    """With a reducer that gives nothing it had every such round fail, after all of its time."""
    round_ = clipped_round(members)
    leader = round_.plan.leaders[0]
    reducer, holder = [place for place in range(members) if place != leader][:2]
    corrupt(round_, reducer, gives_none(reducer))
    corrupt(round_, holder, holds_all)
    round_.run()
    ends = honest_ends(round_, frozenset({reducer, holder}))
    assert all(end.outcome.versions[reducer] for end in ends)
    assert max(end.outcome.seconds for end in ends) < round_.plan.round_timeout_s
    honest = [place for place in range(members) if place not in {reducer, holder}]
    assert len({round_.results[place].tobytes() for place in honest}) == 1
    assert np.isfinite(round_.results[leader]).all()


def test_two_that_say_they_lack_means_have_none_made_anew() -> None:
    """Most hold them, and would give them: those two are late."""
    round_ = clipped_round(8)
    leader = round_.plan.leaders[0]
    reducer, *liars = [place for place in range(8) if place != leader][:3]

    def lacks(send: Send[Any], now: float) -> list[Any]:
        word = send.message
        if not isinstance(word, Status):
            return [send]
        lacking = {"nonce": b"", "nonces": (), "fingerprints": (), "sums": b"", "signature": b"", "made": ()}
        return [Send(send.to, msgspec.structs.replace(word, stalled=to_bits(frozenset({reducer})), **lacking))]

    for liar in liars:
        corrupt(round_, liar, lacks)
    round_.run()
    for end in honest_ends(round_, frozenset(liars)):
        assert not any(end.outcome.versions), "honest means were made anew"
