"""The DHT over simulated links: loss, delay, and a quarter of the nodes gone at once."""

from itertools import zip_longest
from random import Random
from typing import Any

import pytest

from core.base.ids import Contact, PeerId, hashed_key
from core.base.machine import Trace
from core.base.wire import MessageCodec
from core.dht.events import Found, RecordStored
from core.dht.messages import DHT_MESSAGES
from core.dht.node import DhtNode
from core.dht.settings import DhtSettings
from tests.sim.dht.swarm import DhtSwarm, Population
from tests.sim.world.datagrams import PORT
from tests.sim.world.links import LOCAL, LinkSettings
from tests.sim.world.node import End
from tests.sim.world.signing import SimSigner, SimVerifier
from tests.sim.world.world import World

COUNT = 40
KEYS = 30


class Network:
    def __init__(self, seed: int, links: LinkSettings) -> None:
        self.world = World(seed, MessageCodec(DHT_MESSAGES), links=links, addresses_known=False)
        self.random = self.world.chance("test")
        self.signers = [SimSigner.numbered(seed, number) for number in range(COUNT)]
        self.found: dict[tuple[PeerId, bytes], Found] = {}
        self.stored: list[RecordStored] = []
        for signer in self.signers:
            self.join(signer)
            self.world.run(0.2)
        self.world.run(15)

    def join(self, signer: SimSigner) -> None:
        world = self.world
        machine = DhtNode(
            signer=signer,
            verifier=SimVerifier(),
            random=world.chance(f"node {signer.peer_id.hex()} {world.elapsed_s}"),
            settings=DhtSettings(),
            trace=Trace(),
        )

        def on_event(event: Any, now: float) -> tuple[()]:
            match event:
                case Found():
                    self.found[signer.peer_id, event.key] = event
                case RecordStored():
                    self.stored.append(event)
            return ()

        node = world.add(signer.peer_id, machine, on_event=on_event)
        seeds = [Contact(other.peer_id, "sim-1", PORT) for other in self.signers[:2] if other != signer]
        for seed in seeds:
            node.known.add(seed.peer_id)
        world.driver.perform(node, machine.bootstrap(seeds, world.now))

    def machine(self, signer: SimSigner) -> Any:
        return self.world.nodes[signer.peer_id].machine

    def living(self) -> list[SimSigner]:
        return [signer for signer in self.signers if self.world.nodes[signer.peer_id].up]

    def store(self, signer: SimSigner, number: int) -> None:
        key = hashed_key(b"key", bytes([number]))
        outputs = self.machine(signer).store(key, b"value %d" % number, lifetime_s=600, now=self.world.now)
        self.world.driver.perform(self.world.nodes[signer.peer_id], outputs)

    def share_of_keys_found(self) -> float:
        readers = {}
        for number in range(KEYS):
            key = hashed_key(b"key", bytes([number]))
            reader = readers[number] = self.random.choice(self.living())
            self.found.pop((reader.peer_id, key), None)
            outputs = self.machine(reader).get(key, self.world.now)
            self.world.driver.perform(self.world.nodes[reader.peer_id], outputs)
        self.world.run(15)
        hits = 0
        for number, reader in readers.items():
            found = self.found.get((reader.peer_id, hashed_key(b"key", bytes([number]))))
            hits += found is not None and any(record.value == b"value %d" % number for record in found.records)
        return hits / KEYS


@pytest.mark.parametrize(("seed", "loss"), [(1, 0.0033), (2, 0.05), (3, 0.15)])
def test_records_are_found_after_a_quarter_of_peers_vanished(seed: int, loss: float) -> None:
    network = Network(seed, LinkSettings(loss=loss, duplicate=0.01))
    for number in range(KEYS):
        network.store(network.random.choice(network.signers), number)
    network.world.run(15)
    assert len(network.stored) == KEYS
    assert network.share_of_keys_found() == 1.0
    for signer in network.random.sample(network.signers[2:], COUNT // 4):
        network.world.stop(signer.peer_id, End.POWER_CUT)
    assert network.share_of_keys_found() >= 0.96


def test_records_are_found_while_nodes_come_and_go() -> None:
    network = Network(4, LinkSettings(loss=0.01))
    for number in range(KEYS):
        network.store(network.random.choice(network.signers), number)
    network.world.run(15)
    for _ in range(20):
        gone = network.random.choice([s for s in network.living() if s not in network.signers[:2]])
        network.world.stop(gone.peer_id, network.random.choice(list(End)))
        network.world.run(10)
        back = network.random.choice([s for s in network.signers if s not in network.living()])
        network.join(back)
        network.world.run(10)
    assert network.share_of_keys_found() >= 0.9


def test_a_divided_network_finds_itself_again() -> None:
    network = Network(5, LinkSettings())
    network.world.divide(signer.peer_id for signer in network.signers[1::2])
    network.world.run(150)
    network.world.heal()
    network.world.run(120)
    for number in range(KEYS):
        network.store(network.random.choice(network.signers), number)
    network.world.run(15)
    assert network.share_of_keys_found() == 1.0


@pytest.mark.long
@pytest.mark.parametrize("seed", [10, 48])
def test_newcomers_through_one_seed_find_all_names(seed: int) -> None:
    """As `tests.bench.dht.dht` does it; with these seeds, lookups ended among newcomers that knew only each other."""
    swarm = DhtSwarm(seed, Population(peers=64, host="127.0.0.1"), links=LOCAL, settings=DhtSettings(replicas=5))
    first, *others = swarm.signers
    swarm.begin(first, [])
    swarm.world.run(1)
    processes = [others[:15], others[15:31], others[31:47], others[47:]]
    for newcomers in zip_longest(*processes):
        for peer in filter(None, newcomers):
            swarm.begin(peer, [first])
        swarm.world.run(0.004)
    swarm.world.run(7)
    writers, readers = [first, *processes[0]], processes[1]
    random = Random(seed)
    keys = [hashed_key(b"bench dht", b"key%d" % number) for number in range(200)]
    for key in keys:
        swarm.store(random.choice(writers), key, key[:8], lifetime_s=900)
        swarm.world.run(0.03)
    reads = []
    for key in keys:
        reads.append(swarm.get(random.choice(readers), key, quorum=1))
        swarm.world.run(0.03)
    swarm.world.run(5)
    assert [read.records[0].value for read in reads if read.records] == [key[:8] for key in keys]
