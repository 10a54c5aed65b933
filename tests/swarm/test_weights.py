"""A collaboration beside a member that claims samples and sends noise: its weight is bounded, the others go on."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from core.averaging.aggregators import NORM_FACTOR
from core.averaging.weights import LEAD
from core.base.bounds import SAMPLES_MAX
from core.base.ids import PeerId
from core.base.work import Collected, Progress
from core.swarm.words.orders import ContributionCut, RoundRecord
from tests.sim.checkers import Checker
from tests.sim.churn import ChurnSettings
from tests.sim.swarm.settings import SwarmSettings
from tests.sim.swarm.swarm import Swarm, Volunteer, state_of
from tests.sim.swarm.worker import Absorbed
from tests.sim.world.links import LOCAL
from tests.sim.world.node import Node

HONEST = 3
EPOCHS = 14
SETTLED = 7
"""The first rounds begin before anybody has earned anything."""
PATIENCE_S = 400.0
"""Without liars these worlds take two minutes."""


class Observer(Checker):
    """What rounds have counted, and what came of them."""

    def __init__(self) -> None:
        self.records: dict[int, RoundRecord] = {}
        self.norms: dict[int, float] = {}
        self.cuts: dict[PeerId, list[ContributionCut]] = {}
        self.at: dict[int, float] = {}

    def said(self, node: Node, output: Any, now: float) -> None:
        match output:
            case RoundRecord():
                self.records.setdefault(output.name.epoch, output)
                self.at.setdefault(output.name.epoch, now)
            case ContributionCut():
                self.cuts.setdefault(node.peer, []).append(output)
            case Absorbed():
                self.norms[output.name.epoch] = float(np.linalg.norm(output.mean)) / np.sqrt(output.mean.size)

    def share(self, epoch: int, liars: Sequence[PeerId]) -> float:
        members = dict(self.records[epoch].credited)
        return sum(members.get(liar, 0) for liar in liars) / max(1, sum(members.values()))


def lies(liar: Volunteer, *, times: float) -> None:
    """It claims as many samples as a message may, reports them, and sends its gradients so many times too large."""
    begin = liar.begin

    def begin_lying() -> None:
        begin()
        participant, worker = liar.participant, liar.worker
        assert participant is not None
        assert worker is not None
        handle = participant.handle

        def lie(event: Any, now: float) -> Sequence[Any]:
            if isinstance(event, Collected):
                worker._contribution[:] = np.float32(times)
                event = Collected(round=event.round, epoch=0, samples=SAMPLES_MAX, loss=1e9)
            if isinstance(event, Progress):
                event = Progress(epoch=event.epoch, samples=SAMPLES_MAX, samples_per_s=1e12, loss=1e9)
            return handle(event, now)

        participant.handle = lie  # type: ignore[method-assign]
        worker._seat = type(worker._seat)(
            peer=worker._seat.peer, answer=lie, later=worker._seat.later, tell=worker._seat.tell
        )

    liar.begin = begin_lying  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("liars", "times"),
    [
        pytest.param(1, 50.0, marks=pytest.mark.long),
        (2, 50.0),
        (1, 0.0),
        pytest.param(1, 1e15, marks=pytest.mark.long),
        (1, 3e38),
    ],
)
def test_members_that_claim_everything_keep_to_their_share(liars: int, times: float) -> None:
    peers = HONEST + liars
    churn = ChurnSettings(live=(peers, peers), up_s=1e9, down_s=1.0, first_s=1.0)
    observer = Observer()
    swarm = Swarm(3, SwarmSettings(peers=peers, epochs=EPOCHS, churn=churn, links=LOCAL), [observer])
    volunteers = [*swarm.volunteers.values()]
    lying, honest = volunteers[:liars], volunteers[liars:]
    swarm.target_samples = int(sum(volunteer.speed for volunteer in honest) * 8)
    for liar in lying:
        lies(liar, times=times)

    def epochs() -> list[int]:
        names = [state_of(volunteer) for volunteer in honest]
        return [name.epoch if name is not None else 0 for name in names]

    while min(epochs()) < EPOCHS and swarm.world.elapsed_s < PATIENCE_S:
        swarm.world.run(1.0)
    assert min(epochs()) >= EPOCHS
    peers_lying = [volunteer.peer for volunteer in lying]
    late = range(SETTLED, EPOCHS + 1)
    for epoch in late:  # in some rounds an honest member has no samples yet
        assert observer.share(epoch, peers_lying) <= liars * 2 / len(observer.records[epoch].credited) + 0.02
    assert all(observer.records[epoch].loss < 10 for epoch in late), "the loss is an honest member's"
    assert max(observer.norms[epoch] for epoch in late) <= 1.2 * NORM_FACTOR
    seconds = (observer.at[EPOCHS] - observer.at[SETTLED]) / (EPOCHS - SETTLED)
    assert seconds > 8 * HONEST / (HONEST + liars * LEAD), "rounds begin early by what the module says at most"
    cuts = [cut.epoch for volunteer in honest for cut in observer.cuts.get(volunteer.peer, [])]
    assert max(cuts, default=0) < SETTLED
    assert all(observer.cuts.get(peer) for peer in peers_lying), "each is told that it was cut"
