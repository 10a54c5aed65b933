"""A collaboration in which one member lies: the others go on learning."""

from collections.abc import Callable
from typing import Any

import pytest

from core.sim.churn import ChurnSettings
from core.sim.disk import Disk
from core.sim.links import LOCAL
from core.sim.node import End
from core.sim.swarm import Swarm, Volunteer, state_of
from core.sim.swarm_liars import FALSE, LIES
from core.sim.swarm_settings import SwarmSettings
from core.swarm import orders
from core.swarm.states import StateName

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


@pytest.mark.parametrize(("honest", "liars", "seed"), [(2, 1, 1), (2, 1, 2), (3, 2, 1), (3, 2, 2), (4, 1, 3)])
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


def noting(volunteer: Volunteer, loaded: list[StateName]) -> Callable[[Any, float], Any]:
    """What a volunteer does about an event, and the names of the states that it is to load."""
    heard = volunteer._on_event

    def on_event(event: Any, now: float) -> Any:
        if isinstance(event, orders.Load):
            loaded.append(event.name)
        return heard(event, now)

    return on_event
