import pytest

from core.codecs.registry import CODEC_NAMES
from tests.sim.swarm.liars import LIES
from tests.sim.swarm.settings import SwarmSettings
from tests.sim.swarm.swarm import Swarm


def drawn(seed: int) -> SwarmSettings:
    return SwarmSettings.drawn(seed, peers=24, epochs=5)


def test_a_seed_says_what_its_world_is_like() -> None:
    assert drawn(3) == drawn(3)


def test_a_hundred_seeds_bring_every_fault() -> None:
    worlds = [drawn(seed) for seed in range(100)]
    for fault in (
        "partition_s",
        "pause_s",
        "backbone_s",
        "freeze_s",
        "aimed",
        "aimed_partitions",
        "padding_bytes",
        "skew_s",
    ):
        assert 5 <= sum(bool(getattr(world, fault)) for world in worlds) <= 90, fault
    assert any(world.links.loss >= 0.05 for world in worlds)
    assert {world.codec for world in worlds} == set(CODEC_NAMES)
    assert 5 <= sum(world.partial for world in worlds) <= 25
    for drawn_often in ("helpers", "liars", "failure_rate"):
        assert 15 <= sum(bool(getattr(world, drawn_often)) for world in worlds) <= 60, drawn_often


def test_all_lies_are_drawn() -> None:
    assert {lie for seed in range(300) for lie in drawn(seed).liars} == set(LIES)


@pytest.mark.parametrize("peers", [1, 2, 6, 24])
def test_honest_trainers_outnumber_liars_at_any_time(peers: int) -> None:
    for seed in range(100):
        world = SwarmSettings.drawn(seed, peers=peers, epochs=3)
        honest = world.churn.live[0] - world.helpers - len(world.liars)
        assert not world.liars or honest > len(world.liars)
        assert world.helpers < peers
        assert world.churn.live[0] <= world.churn.live[1] <= peers


def test_peers_differ_in_speed_reproducibly() -> None:
    one, other = Swarm(4, drawn(4)), Swarm(4, drawn(4))
    speeds = [volunteer.speed for volunteer in one.volunteers.values()]
    assert speeds == [volunteer.speed for volunteer in other.volunteers.values()]
    assert max(speeds) > 3 * min(speeds)
    assert one.target_samples == int(sum(speeds) * 8)
