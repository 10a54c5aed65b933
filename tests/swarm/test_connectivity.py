"""Connectivity in the simulated Internet: peers behind routers find each other's peer records in the DHT, and meet."""

from collections.abc import Sequence
from copy import copy
from itertools import combinations
from typing import Any

import pytest

from core.base.ids import Contact, Key, PeerId
from core.base.machine import Trace
from core.dht.events import Found, RecordStored
from core.dht.messages import Record
from core.nat.events import AddressesChanged, LocalAddressesChanged, PeerWanted, PublicPeerFound, Way
from core.nat.messages import Address
from core.nat.reachability import Reachability
from core.nat.traversal import Traversal
from core.swarm.reach.connectivity import Connectivity
from tests.sim.nat.boxes import Nature
from tests.sim.nat.homes import PORT, SimulatedHome
from tests.sim.nat.world import NatWorld
from tests.sim.world.links import chance
from tests.unit.swarm.test_connectivity import settings_of

NATURES: tuple[Nature, ...] = ("public", "kept", "moved", "symmetric")


class Board:
    """A DHT of which each peer holds all, with the public peers as contacts."""

    client = False
    ipv6 = True

    def __init__(self) -> None:
        self.contacts: list[Contact] = []
        self.records: dict[Key, Record] = {}

    def get(self, key: Key, now: float, *, quorum: int | None = None, owner: PeerId | None = None) -> Sequence[Any]:
        record = self.records.get(key)
        return [Found(key, () if record is None else (record,))]

    def store(
        self, key: Key, value: bytes, *, lifetime_s: float, now: float, subkey: bytes | None = None
    ) -> Sequence[Any]:
        assert subkey is not None
        self.records[key] = Record(subkey, value, int(1000 * (now + lifetime_s)), bytes(64))
        return [RecordStored(key, 3)]


class Connected:
    """Stands where the world has a home's traversal machine, and does what a participant does with its DHT's events."""

    def __init__(self, home: SimulatedHome, board: Board, *, role: str) -> None:
        random = chance(7, f"connectivity {home.number}")
        self.directory = copy(board)  # the same records; whether it answers is each peer's own matter
        self.machine = Connectivity(
            home.peer, directory=self.directory, settings=settings_of(role=role), random=random, trace=Trace()
        )

    @property
    def deadline(self) -> float | None:
        return self.machine.deadline

    def handle(self, event: Any, now: float) -> list[Any]:
        if isinstance(event, AddressesChanged):
            event = LocalAddressesChanged(hosts=tuple(one.address.host for one in event.addresses), port=PORT)
        return self._settle(self.machine.handle(event, now), now)

    def volunteer(self, peer: PeerId, address: Address, now: float, *, relay: bool) -> list[Any]:
        return self.handle(PublicPeerFound(peer, address, relay=relay), now)

    def dial(self, peer: PeerId, now: float) -> list[Any]:
        return self.handle(PeerWanted(peer), now)

    def _settle(self, outputs: list[Any], now: float) -> list[Any]:
        said: list[Any] = []
        while outputs:
            output = outputs.pop(0)
            match output:
                case Found():
                    outputs += self.machine.found(output, now) or []
                case RecordStored():
                    self.machine.stored(output)
                case _:
                    said.append(output)
        return said

    def __getattr__(self, name: str) -> Any:
        """Circuits, and what is known: as of the traversal machine inside."""
        return getattr(self.machine.traversal, name)


def world_of(*natures: Nature, role: str = "volunteer") -> tuple[NatWorld, list[SimulatedHome]]:
    """Public peers that are known to the DHT, and the peers in question, which know nobody."""
    world, board = NatWorld(1), Board()
    helpers = [world.add("public") for _ in range(4)]
    homes = [world.add(nature) for nature in natures]
    board.contacts = [Contact(home.peer, home.box.host, PORT) for home in helpers]
    for home in (*helpers, *homes):
        home.machine = Connected(home, board, role=role)  # type: ignore[assignment]
        world.start(home)
    world.run(120)
    return world, homes


@pytest.mark.parametrize(
    ("nature", "standing"),
    [
        ("public", Reachability.REACHABLE),
        ("kept", Reachability.PUNCHABLE),
        ("moved", Reachability.PUNCHABLE),
        ("symmetric", Reachability.RELAYED),
    ],
)
def test_peer_learns_its_reachability_from_the_dht_alone(nature: Nature, standing: Reachability) -> None:
    _, (home,) = world_of(nature)
    machine: Traversal = home.machine
    assert machine.reach.standing is standing


@pytest.mark.parametrize(("role", "client"), [("volunteer", True), ("backbone", False)])
def test_backbone_alone_answers_in_the_dht_from_behind_a_router(role: str, *, client: bool) -> None:
    _, (home,) = world_of("kept", role=role)
    assert home.machine.reach.standing is Reachability.PUNCHABLE
    assert home.machine.directory.client is client


def test_peers_behind_all_kinds_of_routers_meet_by_peer_records() -> None:
    world, homes = world_of(*NATURES)
    for one, other in combinations(homes, 2):
        world.dial(one, other)
    world.run(60)
    for one, other in combinations(homes, 2):
        ended = one.ended[other.peer]
        assert ended.way is not None, (one.box.nature, other.box.nature, ended.reason)
        if "public" in {one.box.nature, other.box.nature}:
            assert ended.way is not Way.RELAY
    assert not world.peer_records, "only the DHT hands peer records out"
