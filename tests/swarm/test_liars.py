"""A collaboration in which one member lies: the others go on learning."""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from core.averaging.matchmaking import Call, Wanted
from core.averaging.messages import Commit, Leaving, Order, to_bits
from core.base.bounds import FOLLOWED_EPOCH_MAX, SAMPLES_MAX
from core.base.machine import Received, Send
from core.sim.churn import ChurnSettings
from core.sim.disk import Disk, MemoryFile
from core.sim.links import LOCAL
from core.sim.node import End
from core.sim.swarm import Swarm, Volunteer, state_of
from core.sim.swarm_settings import SwarmSettings
from core.swarm import orders
from core.swarm.answers import StateOffered
from core.swarm.participant import Participant
from core.swarm.progress import ProgressReport
from core.swarm.states import StateName

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


NOISE = MemoryFile(np.random.default_rng(0).standard_normal(300).astype(np.float32).tobytes())
FOUNDED_S = 10.0
"""When all volunteers are there."""
FALSE = StateName(10**6, b"\xff" * 32)


def gives_noise(swarm: Swarm, liar: Volunteer) -> None:
    """It trains nothing, by its own word stands far ahead of all, and gives a file of noise to all that ask."""
    swarm_begin, lies_at = liar.begin, swarm.world.now + FOUNDED_S
    lie = changed(epoch=FALSE.epoch, lineage=FALSE.lineage, digest=NOISE.digest, in_step=True)
    liar.tells = lambda report: lie(report) if swarm.world.now > lies_at else report

    def begin() -> None:
        swarm_begin()
        assert liar.participant is not None
        liar.participant.handle(StateOffered(NOISE), swarm.world.now)

    liar.begin = begin  # type: ignore[method-assign]
    liar._begin_worker = lambda node: None  # type: ignore[method-assign]


@pytest.mark.parametrize(("honest", "liars", "seed"), [(2, 1, 1), (2, 1, 2), (3, 2, 1), (3, 2, 2), (4, 1, 3)])
def test_fewer_liars_than_honest_peers_replace_nobodys_model(honest: int, liars: int, seed: int) -> None:
    """The honest ones are killed one by one, and come back, every other with an empty disk."""
    count = honest + liars
    churn = ChurnSettings(live=(count, count), up_s=1e9, down_s=1.0, first_s=1.0)
    swarm = Swarm(seed, SwarmSettings(peers=count, epochs=EPOCHS, churn=churn, links=LOCAL, blank=0.0))
    volunteers = list(swarm.volunteers.values())
    for liar in volunteers[:liars]:
        gives_noise(swarm, liar)
    others = volunteers[liars:]
    loaded: list[StateName] = []
    for volunteer in others:
        volunteer._on_event = noting(volunteer, loaded)  # type: ignore[method-assign]
    swarm.world.run(30.0)
    for number, volunteer in enumerate([*others, *others]):
        volunteer.end(End.CRASH)
        if number % 2:
            volunteer.disk = Disk()
        swarm.world.run(3.0)
        volunteer.begin()
        swarm.world.run(25.0)
    assert loaded
    assert FALSE not in loaded
    held = {state_of(volunteer) for volunteer in others}
    assert len(held) <= 2, "the newest, and the one before where a round has just ended"
    assert all(name is not None and EPOCHS <= name.epoch < FALSE.epoch for name in held)


def noting(volunteer: Volunteer, loaded: list[StateName]) -> Callable[[Any, float], Any]:
    """What a volunteer does about an event, and the names of the states that it is to load."""
    heard = volunteer._on_event

    def on_event(event: Any, now: float) -> Any:
        if isinstance(event, orders.Load):
            loaded.append(event.name)
        return heard(event, now)

    return on_event


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
