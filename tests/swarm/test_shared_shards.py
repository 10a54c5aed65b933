"""A swarm of members with small disks reads a data set, while some go and others come (`tests.sim.shards.program`)."""

import argparse

import pytest

from core.base.problems import BadInput
from tests.sim.shards import program as shards_program
from tests.sim.shards.program import newcomers
from tests.sim.shards.swarm import ShardSwarm, ShardSwarmSettings
from tests.sim.stays import Stays

HOUR_S = 3600.0
SMALL = ShardSwarmSettings(
    peers=30,
    shards=40,
    chunks=2,
    disk=0.2,
    read_s=(10.0, 30.0),
    stays=Stays(means_s=(0.2 * HOUR_S, 4 * HOUR_S), weights=(0.3, 0.7)),
)


@pytest.fixture(scope="module")
def swarm():
    swarm = ShardSwarm(SMALL, seed=3)
    swarm.world.run(1800.0)
    return swarm


def test_origin_gives_little_more_than_the_data_set(swarm):
    read = sum(SMALL.shards - len(reader.left) for reader in swarm.readers.values())
    assert swarm.gone >= 3
    assert read > 15 * SMALL.shards
    assert swarm.origin_shards < 2 * SMALL.shards


def test_no_shard_is_lost_once_all_have_holders(swarm):
    seeded_s = next(at for at, fewest in swarm.rarest if fewest >= 3)
    assert min(fewest for at, fewest in swarm.rarest if at >= seeded_s) >= 1


def test_disks_keep_to_their_room(swarm):
    room = swarm.room * swarm.catalogue.sources[0][0].size_bytes
    assert all(reader.exchange.shelf.used_bytes <= room for reader in swarm.readers.values())


def test_without_room_all_comes_from_the_origin():
    swarm = ShardSwarm(ShardSwarmSettings(peers=4, shards=10, chunks=1, shares=False, read_s=(5.0, 9.0)), seed=1)
    swarm.world.run(300.0)
    assert swarm.origin_shards == 4 * 10


@pytest.mark.parametrize(
    ("without", "seeder_s", "disk", "seeds"),
    [("rarest", 120.0, 0.2, (1,)), pytest.param("commonest", 600.0, 0.1, (1, 2), marks=pytest.mark.long)],
)
def test_shards_outlive_the_member_that_brought_them(without, seeder_s, disk, seeds):
    """A new data set, which all want at once, and the only member that has it goes."""
    kept = {"": 0, without: 0}
    for seed in seeds:
        for off in kept:
            swarm = ShardSwarm(
                ShardSwarmSettings(peers=40, shards=40, disk=disk, seeder_s=seeder_s, without=off), seed=seed
            )
            swarm.world.run(seeder_s + 900.0)
            assert swarm.origin_shards == 0
            kept[off] += swarm.kept
    assert kept[""] >= kept[without] + 8


def test_newcomer_is_nearly_as_quick_as_its_line():
    slower = newcomers(ShardSwarmSettings(peers=40, shards=40, disk=0.2), seed=2)
    assert all(0.9 < one < 2.0 for one in slower)


def test_same_seed_gives_the_same_world():
    digests = []
    for _ in range(2):
        swarm = ShardSwarm(ShardSwarmSettings(peers=6, shards=10, chunks=1, disk=0.4, read_s=(5.0, 9.0)), seed=9)
        swarm.world.run(120.0)
        digests.append((swarm.world.messages, swarm.world.digest.hex(), swarm.origin_shards))
    assert digests[0] == digests[1]


def test_a_share_replaced_an_hour_is_refused() -> None:
    with pytest.raises(BadInput, match="not replaced by share"):
        shards_program.run(argparse.Namespace(churn="0.1"))
