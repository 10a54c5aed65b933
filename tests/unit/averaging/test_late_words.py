"""What a member says once a round is over: it hears the Commit again, and not without end."""

import pytest

from core.averaging.butterfly import LATE_MAX
from core.averaging.messages import Commit, Leaving, Status
from core.base.machine import Received
from tests.unit.averaging.clipped import clipped_round


@pytest.mark.parametrize("kind", [Leaving, Status])
def test_words_after_the_end_are_answered_so_many_times(kind: type[Leaving | Status]) -> None:
    """The coordinator's Leaving has the Commit passed on to all; another member's Status, to itself."""
    round_ = clipped_round(5)
    round_.run()
    peers, shares = round_.plan.peers, len(round_.plan.peers)
    leader = round_.plan.leaders[0]
    me = next(place for place in range(shares) if place != leader)
    word = Leaving(round_.plan.round)
    if kind is Status:
        word = Status(round_.plan.round, (0,) * shares, tuple(range(shares)))
    said = [
        output
        for _ in range(1000)
        for output in round_.machines[peers[me]].handle(Received(peers[leader], word), round_.pump.now)
    ]
    commits = sum(isinstance(output.message, Commit) for output in said)
    assert 0 < commits <= LATE_MAX * (shares - 1)
