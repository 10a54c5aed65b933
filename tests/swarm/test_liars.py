"""A collaboration in which one member lies: the others go on learning."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from core.averaging.matchmaking import Call, Wanted
from core.averaging.messages import Commit, Leaving, Order, to_bits
from core.base.bounds import FOLLOWED_EPOCH_MAX, SAMPLES_MAX
from core.base.machine import Received, Send
from core.sim.churn import ChurnSettings
from core.sim.links import LOCAL
from core.sim.swarm import Swarm, SwarmSettings, state_of
from core.swarm.participant import Participant
from core.swarm.progress import ProgressReport

HONEST = 4
EPOCHS = 3
PATIENCE_S = 240.0
"""Without a liar these worlds take about a minute."""
Lie = Callable[[ProgressReport], ProgressReport]


def changed(**fields: Any) -> Lie:
    return lambda report: msgspec.structs.replace(report, **fields)


def another_each_second(report: ProgressReport) -> ProgressReport:
    epoch = 2**20 + int(report.time) % 2**20
    return msgspec.structs.replace(report, epoch=epoch, lineage=b"\xff" * 32, digest=b"x" * 32)


LIES: dict[str, Lie] = {
    "a state that it does not have": changed(epoch=FOLLOWED_EPOCH_MAX, lineage=b"\xff" * 32, digest=b"x" * 32),
    "another state each second": another_each_second,
    "samples that it does not have": changed(samples=SAMPLES_MAX),
    "an address that is none": changed(host="a..b\0", port=1),
}


@pytest.mark.parametrize("lie", LIES)
def test_one_liar_does_not_stop_the_others(lie: str) -> None:
    churn = ChurnSettings(live=(HONEST + 1, HONEST + 1), up_s=1e9, down_s=1.0, first_s=1.0)
    swarm = Swarm(3, SwarmSettings(peers=HONEST + 1, epochs=EPOCHS, churn=churn, links=LOCAL))
    liar, *others = swarm.volunteers.values()
    liar.tells = LIES[lie]

    def epochs() -> list[int]:
        names = [state_of(volunteer) for volunteer in others]
        return [name.epoch if name is not None else 0 for name in names]

    while min(epochs()) < EPOCHS and swarm.world.elapsed_s < PATIENCE_S:
        swarm.world.run(1.0)
    assert min(epochs()) >= EPOCHS


def never_commits(participant: Participant) -> None:
    """It calls twice a second if it may, follows nobody, plans well, and then only says that it lives."""

    def alive(said: Any) -> bool:
        return not (isinstance(said, Send) and isinstance(said.message, Leaving | Commit))

    def unchanged(said: Any) -> Any:
        if isinstance(said, Send) and isinstance(said.message, Order):
            everybody = to_bits(frozenset(range(len(said.message.versions))))
            return Send(said.to, msgspec.structs.replace(said.message, nonces=(), live=everybody))
        return said

    handle, rounds = participant.handle, participant.rounds
    again_at = 0.0

    def call(event: Any, now: float) -> list[Any]:
        nonlocal again_at
        if isinstance(event, Received) and isinstance(event.message, Call):
            return []
        outputs = list(handle(event, now))
        view = participant.view(now)
        if view.state is not None and now >= again_at and not rounds.busy:
            again_at = now + 0.5  # as if it had been asked for a call
            mates = sorted(peer for peer, report in view.peers.items() if report.in_step and report.state == view.state)
            for other in mates[:1]:
                outputs += handle(Received(other, Wanted(view.state.epoch, view.state.lineage, 0)), now)
        return [unchanged(output) for output in outputs if alive(output)]

    participant.handle = call  # type: ignore[method-assign]


def test_a_leader_that_never_commits_does_not_stop_the_others() -> None:
    churn = ChurnSettings(live=(HONEST + 1, HONEST + 1), up_s=1e9, down_s=1.0, first_s=1.0)
    swarm = Swarm(3, SwarmSettings(peers=HONEST + 1, epochs=EPOCHS, churn=churn, links=LOCAL))
    liar, *others = swarm.volunteers.values()
    begin = liar.begin

    def begin_lying() -> None:
        begin()
        assert liar.participant is not None
        never_commits(liar.participant)

    liar.begin = begin_lying  # type: ignore[method-assign]
    while swarm.world.elapsed_s < PATIENCE_S:
        swarm.world.run(1.0)
        names = [state_of(volunteer) for volunteer in others]
        if all(name is not None and name.epoch >= EPOCHS for name in names):
            return
    raise AssertionError("they stand still")
