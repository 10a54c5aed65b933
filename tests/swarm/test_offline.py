"""A volunteer that loses the network for half an hour, and is back without anybody's doing."""

from tests.sim.churn import ChurnSettings
from tests.sim.swarm.checkers import all_agree
from tests.sim.swarm.settings import SwarmSettings
from tests.sim.swarm.swarm import Swarm, Volunteer, state_of

OFFLINE_S = 1800.0
BACK_S = 120.0
NOBODY_GOES = ChurnSettings(live=(2, 2), up_s=1e9, down_s=1.0, first_s=1.0)
SLOWER = 40
"""Epochs of some minutes, as they are in earnest; and half an hour is simulated sooner."""


def test_half_an_hour_without_network_ends_by_itself() -> None:
    settings = SwarmSettings(peers=2, epochs=100_000, churn=NOBODY_GOES, parameters=64, chunk_numel=16)
    swarm = Swarm(5, settings)
    swarm.target_samples *= SLOWER
    swarm.world.run(600)
    assert all_agree(swarm)
    lone, other = swarm.volunteers.values()
    assert lone.participant is not None
    before = _epoch(other)
    swarm.world.divide([lone.peer])
    swarm.world.run(OFFLINE_S)
    assert lone.view().peers == {}
    assert lone.participant.dht.contacts == []
    assert _epoch(other) > before + 3, "the others went on"
    swarm.world.heal()
    waited_s = 0.0
    while not (all_agree(swarm) and len(lone.view().peers) >= 2):
        assert waited_s < BACK_S
        swarm.world.run(1.0)
        waited_s += 1.0
    reached = _epoch(lone)
    swarm.world.run(600)
    assert _epoch(lone) > reached, "it takes part again"
    assert all_agree(swarm)


def _epoch(volunteer: Volunteer) -> int:
    state = state_of(volunteer)
    assert state is not None
    return state.epoch
