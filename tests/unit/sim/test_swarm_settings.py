from core.sim.swarm import Swarm
from core.sim.swarm_settings import SwarmSettings


def drawn(seed: int) -> SwarmSettings:
    return SwarmSettings.drawn(seed, peers=24, epochs=5)


def test_a_seed_says_what_its_world_is_like() -> None:
    assert drawn(3) == drawn(3)


def test_a_hundred_seeds_bring_every_fault() -> None:
    worlds = [drawn(seed) for seed in range(100)]
    for fault in ("partition_s", "pause_s", "backbone_s", "freeze_s", "aimed", "padding_bytes", "skew_s"):
        assert 5 <= sum(bool(getattr(world, fault)) for world in worlds) <= 90, fault
    assert any(world.links.loss >= 0.05 for world in worlds)
    assert {world.codec for world in worlds} == {"raw", "fp16"}


def test_peers_differ_in_speed_reproducibly() -> None:
    one, other = Swarm(4, drawn(4)), Swarm(4, drawn(4))
    speeds = [volunteer.speed for volunteer in one.volunteers.values()]
    assert speeds == [volunteer.speed for volunteer in other.volunteers.values()]
    assert max(speeds) > 3 * min(speeds)
    assert one.target_samples == int(sum(speeds) * 8)
