"""A collaboration in which one member lies: the others go on learning."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from core.swarm.presence import branches
from core.swarm.presence.branches import Voices, Weight
from core.swarm.standby import EpochPace
from core.swarm.words import orders
from core.swarm.words.facts import Help
from core.swarm.words.progress import ProgressReport
from core.swarm.words.states import StateName
from tests.sim.churn import ChurnSettings
from tests.sim.swarm.disk import Disk, MemoryFile, ModelState
from tests.sim.swarm.liars import FALSE, LIES, NOISE, Lie
from tests.sim.swarm.settings import SwarmSettings
from tests.sim.swarm.swarm import Swarm, Volunteer, state_of
from tests.sim.world.links import LOCAL
from tests.sim.world.node import End

HONEST = 4
EPOCHS = 3
PATIENCE_S = 240.0
"""Without a liar these worlds take about a minute."""


@pytest.mark.parametrize("lie", LIES)
def test_one_liar_does_not_stop_the_others(lie: str) -> None:
    churn = ChurnSettings(live=(HONEST + 1, HONEST + 1), up_s=1e9, down_s=1.0, first_s=1.0)
    settings = SwarmSettings(peers=HONEST + 1, epochs=EPOCHS, churn=churn, links=LOCAL, liars=(lie,))
    swarm = Swarm(3, settings)
    _, *others = swarm.volunteers.values()

    def epochs() -> list[int]:
        names = [state_of(volunteer) for volunteer in others]
        return [name.epoch if name is not None else 0 for name in names]

    while min(epochs()) < EPOCHS and swarm.world.elapsed_s < PATIENCE_S:
        swarm.world.run(1.0)
    assert min(epochs()) >= EPOCHS


@pytest.mark.parametrize(
    ("honest", "liars", "seed"),
    [
        (2, 1, 1),
        pytest.param(2, 1, 2, marks=pytest.mark.long),
        (3, 2, 1),
        pytest.param(3, 2, 2, marks=pytest.mark.long),
        pytest.param(4, 1, 3, marks=pytest.mark.long),
    ],
)
def test_fewer_liars_than_honest_peers_replace_nobodys_model(honest: int, liars: int, seed: int) -> None:
    """The honest ones are killed one by one, and come back, every other with an empty disk."""
    count = honest + liars
    churn = ChurnSettings(live=(count, count), up_s=1e9, down_s=1.0, first_s=1.0)
    lies = ("a state that is noise",) * liars
    swarm = Swarm(seed, SwarmSettings(peers=count, epochs=EPOCHS, churn=churn, links=LOCAL, blank=0.0, liars=lies))
    others = list(swarm.volunteers.values())[liars:]
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


@pytest.mark.parametrize(
    ("honest", "liars", "seed", "helps", "known"),
    [
        (2, 3, 1, False, True),
        (2, 8, 2, True, True),
        (2, 8, 1002, False, True),  # one with an empty disk is alone with them before its first round
        (1, 3, 3, False, True),
        (2, 3, 1, False, False),
    ],
)
def test_passes_alone_replace_nobodys_model(
    monkeypatch: pytest.MonkeyPatch, honest: int, liars: int, seed: int, *, helps: bool, known: bool
) -> None:
    """Peers that were in no round come after all have stepped: with a far state, and one just ahead of the others'.

    Those who are honest come and go.  Without what each knows of who was in rounds, all follow the liars.
    """
    followed = branches.heaviest
    if not known:
        monkeypatch.setattr(Voices, "weight", lambda one, **_: Weight(trains=one.trains, others=one.others))
        monkeypatch.setattr(branches, "heaviest", lambda *args, **more: followed(*args, **more | {"loyal": False}))
    churn = ChurnSettings(live=(honest, honest), up_s=1e9, down_s=1.0, first_s=1.0)
    settings = SwarmSettings(peers=honest + liars, epochs=1000, churn=churn, links=LOCAL, blank=0.0, copies=True)
    swarm = Swarm(seed, settings)
    everybody = list(swarm.volunteers.values())
    swarm.world.run(10.0)
    others = [volunteer for volunteer in everybody if volunteer.node is not None]
    if helps:
        assert swarm.backbone.participant is not None
        swarm.backbone.participant.handle(Help(2**20), swarm.world.now)
    swarm.world.run(40.0)
    assert all(state is not None and state.epoch for state in map(state_of, others))
    loaded: list[StateName] = []
    for volunteer in others:
        volunteer._on_event = noting(volunteer, loaded)  # type: ignore[method-assign]
    came = [volunteer for volunteer in everybody if volunteer not in others]
    for volunteer in came:
        volunteer.lie = Lie(tells=grafted(others if volunteer.number % 2 else []), gives=NOISE)
        volunteer.begin()
    swarm.world.run(60.0)
    for number, volunteer in enumerate([*others, *others]):
        volunteer.end(End.CRASH)
        if number % 2 and honest > 1:
            volunteer.disk = Disk()
        swarm.world.run(3.0 + 30.0 * (number % 3))
        volunteer.begin()
        swarm.world.run(40.0)
    held = {state_of(volunteer) for volunteer in others}
    false = [name for name in [*loaded, *held] if name is not None and name.lineage == FALSE.lineage]
    assert bool(false) is not known
    assert not known or all(name is not None and name.epoch > EPOCHS for name in held)
    kept = swarm.backbone.disk.checkpoints[-1][0].name
    assert not known or EPOCHS < kept.epoch < FALSE.epoch


DAY_S = 24 * 3600.0
NIGHT_S = 70.0
"""Longer than the backbone waits for those who were in rounds."""


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in (2, 3))])
@pytest.mark.parametrize(
    ("ahead", "clock_s", "bounded", "led"),
    [(900, 0.0, True, False), (900, 0.0, False, True), (10, 0.0, True, True), (10, DAY_S, True, False)],
)
def test_strangers_of_the_night_lead_nobody_further_than_time_allows(
    monkeypatch: pytest.MonkeyPatch, seed: int, ahead: int, clock_s: float, *, bounded: bool, led: bool
) -> None:
    """They come when all have gone, with a file that trainers load, and stay.  A plausible number is followed.

    Nor do they with clocks that are a day ahead, and a state of tomorrow.
    """
    if not bounded:
        monkeypatch.setattr(EpochPace, "furthest", lambda *_: math.inf)
    churn = ChurnSettings(live=(2, 2), up_s=1e9, down_s=1.0, first_s=1.0)
    settings = SwarmSettings(peers=5, epochs=1000, churn=churn, links=LOCAL, blank=0.0, copies=True, epoch_s=3.0)
    swarm = Swarm(seed, settings)
    swarm.world.run(2 * NIGHT_S)
    others = [volunteer for volunteer in swarm.volunteers.values() if volunteer.node is not None]
    came = [volunteer for volunteer in swarm.volunteers.values() if volunteer.node is None]
    for volunteer in others:
        volunteer.end(End.CRASH)
    held = max(volunteer.disk.checkpoints[-1][0].name.epoch for volunteer in others)
    swarm.world.run(NIGHT_S)
    name = StateName(held + ahead, FALSE.lineage)
    numbers = swarm.worker_settings.parameters
    state = ModelState.from_bytes(others[0].disk.checkpoints[-1][1].data, numbers)
    file = MemoryFile(replace(state, name=name, ancestors=b"", means=b"").to_bytes(0))
    told = {"epoch": name.epoch, "lineage": name.lineage, "digest": file.digest, "in_step": True, "ancestors": b""}
    for volunteer in came:
        volunteer.lie = Lie(tells=lambda report: msgspec.structs.replace(report, **told), gives=file)
        volunteer.skew_s = clock_s
        volunteer.begin()
    swarm.world.run(2 * NIGHT_S)
    for volunteer in others:
        volunteer.begin()
    swarm.world.run(60.0)
    reached = [state.epoch for state in map(state_of, others) if state is not None]
    assert len(reached) == len(others)
    assert min(reached) > held, "training goes on"
    assert all((epoch > name.epoch) is led for epoch in reached)


def grafted(others: Sequence[Volunteer]) -> Callable[[ProgressReport], ProgressReport]:
    """A report of the false state, which is said to come from the newest one of these."""

    def tell(report: ProgressReport) -> ProgressReport:
        held = [name for volunteer in others if (name := state_of(volunteer)) and name != FALSE]
        mark = max(held).mark if held else b""
        told = {"epoch": FALSE.epoch, "lineage": FALSE.lineage, "digest": NOISE.digest, "ancestors": mark}
        return msgspec.structs.replace(report, in_step=True, **told)

    return tell


def noting(volunteer: Volunteer, loaded: list[StateName]) -> Callable[[Any, float], Any]:
    """What a volunteer does about an event, and the names of the states that it is to load."""
    heard = volunteer._on_event

    def on_event(event: Any, now: float) -> Any:
        if isinstance(event, orders.Load):
            loaded.append(event.name)
        return heard(event, now)

    return on_event
