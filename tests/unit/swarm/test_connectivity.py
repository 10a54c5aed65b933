"""Where there may be routers: who gets which event, and how peer records come and go."""

from random import Random
from typing import Any

import pytest

from core.base.ids import Contact, Observed, PeerId, hashed_key
from core.base.machine import Lost, Received, Send, Tick, Trace
from core.base.manifest import AveragingNumbers
from core.dht.events import Found
from core.dht.messages import Record
from core.nat.events import (
    AddAddress,
    DialEnded,
    LinkUp,
    LocalAddressesChanged,
    PeerWanted,
    PortMapped,
    PublicPeerFound,
    RelayAllowed,
    Way,
)
from core.nat.messages import Address, Mirror, Mirrored
from core.nat.peer_record import (
    ADDRESSES_MAX,
    NO_PEER_RECORD,
    AddressCandidate,
    CandidateKind,
    PeerRecord,
    encode,
    peer_record_key,
)
from core.nat.relay import RelaySettings
from core.swarm.reach.connectivity import AGAIN_S, SCOUT_FIRST_S, SCOUT_S, Connectivity
from core.swarm.words.settings import ParticipantSettings

ME, ANNA, BEN = (PeerId(hashed_key(name)) for name in (b"me", b"anna", b"ben"))
PLACE = Address("11.2.3.4", 5000)
PORT = 4000
HOME = LocalAddressesChanged(hosts=("10.0.0.7",), port=PORT)


def settings_of(*, relay: RelaySettings | None = None, role: str = "volunteer") -> ParticipantSettings:
    return ParticipantSettings(
        run=bytes(32),
        target_samples=1,
        averaging=AveragingNumbers(),
        evaluate_every=1,
        role=role,
        relay=relay or RelaySettings(),
    )


class Directory:
    """A DHT that only writes down what it is asked."""

    client = False
    ipv6 = True

    def __init__(self) -> None:
        self.contacts: list[Contact] = []
        self.reads: list[tuple[bytes, int | None]] = []
        self.kept: list[tuple[bytes, bytes, bytes | None]] = []

    def get(self, key: Any, now: float, *, quorum: int | None = None, owner: Any = None) -> list[Any]:
        assert owner is not None
        self.reads.append((key, quorum))
        return []

    def store(self, key: Any, value: bytes, *, lifetime_s: float, now: float, subkey: bytes | None = None) -> list[Any]:
        self.kept.append((key, value, subkey))
        return []

    @property
    def read(self) -> list[bytes]:
        return [key for key, _ in self.reads]


class Stage:
    """The machine under test, and all that it has said."""

    def __init__(self, *, at: LocalAddressesChanged | None = HOME, relay: RelaySettings | None = None) -> None:
        self.now = 1000.0
        self.directory = Directory()
        self.machine = Connectivity(
            ME, directory=self.directory, settings=settings_of(relay=relay), random=Random(1), trace=Trace()
        )
        self.said: list[Any] = []
        if at is not None:
            self.tell(at)

    def tell(self, event: Any) -> list[Any]:
        outputs = self.machine.handle(event, self.now)
        self.said += outputs
        return outputs

    def found(self, peer: PeerId, *peer_records: tuple[PeerId, PeerRecord]) -> list[Any] | None:
        records = tuple(Record(owner, encode(peer_record), 2_000_000, bytes(64)) for owner, peer_record in peer_records)
        outputs = self.machine.found(Found(peer_record_key(peer), records), self.now)
        self.said += outputs or []
        return outputs

    def wait(self, seconds: float) -> None:
        """Let time pass, with a Tick at each deadline."""
        until = self.now + seconds
        while (deadline := self.machine.deadline) is not None and deadline <= until:
            self.now = max(self.now, deadline)
            self.tell(Tick())
        self.now = until

    def heard(self, kind: type) -> list[Any]:
        return [output for output in self.said if isinstance(output, kind)]

    def mirrors(self) -> set[PeerId]:
        """Who was asked how this peer looks from outside."""
        return {output.to for output in self.heard(Send) if isinstance(output.message, Mirror)}

    @property
    def listed(self) -> tuple[AddressCandidate, ...]:
        """The addresses on this peer's record."""
        return self.machine.traversal.peer_record.addresses


def record_of(*listed: AddressCandidate, relay: bool = True) -> PeerRecord:
    return PeerRecord(listed, reachable=True, tcp_mapping="none", udp_mapping="none", quic=True, relays=(), relay=relay)


def public(number: int) -> Contact:
    return Contact(PeerId(hashed_key(bytes([number]))), f"11.1.1.{number}", 7)


def test_the_record_lists_the_most_useful_addresses_first() -> None:
    stage = Stage(at=LocalAddressesChanged(hosts=("10.0.0.7", "fd00::7", "2a00::1", "127.0.0.1"), port=PORT))
    stage.tell(PortMapped(Address("11.9.9.9", 5)))
    assert stage.listed == (
        AddressCandidate(CandidateKind.MAPPED, Address("11.9.9.9", 5)),
        AddressCandidate(CandidateKind.IPV6, Address("2a00::1", PORT)),
        AddressCandidate(CandidateKind.LAN, Address("10.0.0.7", PORT)),
        AddressCandidate(CandidateKind.LAN, Address("fd00::7", PORT)),
    )
    assert len(stage.listed) <= ADDRESSES_MAX


def test_port_mapped_before_the_start_is_listed_too() -> None:
    stage = Stage(at=None)
    stage.tell(PortMapped(PLACE))
    assert stage.listed == ()
    stage.tell(HOME)
    assert AddressCandidate(CandidateKind.MAPPED, PLACE) in stage.listed
    stage.tell(PortMapped(None))
    assert AddressCandidate(CandidateKind.MAPPED, PLACE) not in stage.listed


@pytest.mark.parametrize(("hosts", "ipv6"), [(("10.0.0.7", "2a00::1"), True), (("10.0.0.7",), False)])
def test_the_dht_knows_whether_there_is_ipv6(hosts: tuple[str, ...], *, ipv6: bool) -> None:
    stage = Stage(at=LocalAddressesChanged(hosts=hosts, port=PORT))
    assert stage.directory.ipv6 is ipv6


@pytest.mark.parametrize("moved", [True, False])
def test_in_another_network_public_peers_are_looked_for_soon(*, moved: bool) -> None:
    stage = Stage()
    stage.wait(10 * SCOUT_S)
    stage.directory.contacts = [public(1)]
    before = len(stage.directory.reads)
    stage.tell(LocalAddressesChanged(hosts=("10.0.0.8",), port=PORT, moved=moved))
    stage.wait(SCOUT_FIRST_S)
    assert (len(stage.directory.reads) > before) is moved


def test_public_peers_are_asked_how_this_one_looks_from_outside() -> None:
    stage = Stage()
    stage.tell(PublicPeerFound(ANNA, Address("11.1.1.1", 7), relay=True))
    stage.tell(PublicPeerFound(BEN, Address("127.0.0.1", 7), relay=True))
    stage.tell(PublicPeerFound(ME, Address("11.1.1.1", 7), relay=True))
    stage.wait(SCOUT_S)
    assert stage.mirrors() == {ANNA}


def test_public_peers_are_found_among_contacts_in_the_dht() -> None:
    stage = Stage()
    inside = Contact(BEN, "10.0.0.3", 7)
    stage.directory.contacts = [public(1), inside]
    stage.wait(SCOUT_FIRST_S)
    assert stage.directory.read == [peer_record_key(public(1).peer_id)]
    stage.wait(SCOUT_S)
    assert stage.mirrors() == {public(1).peer_id}


def test_relaying_peer_does_not_scout_at_each_tick() -> None:
    stage = Stage()
    stage.directory.contacts = [public(number) for number in range(1, 9)]
    for _ in range(100):
        stage.tell(Tick())
    assert not stage.directory.reads


def test_wanted_peer_is_called_at_the_address_on_its_record() -> None:
    stage = Stage()
    stage.tell(PeerWanted(ANNA))
    assert stage.directory.reads == [(peer_record_key(ANNA), 1)]
    peer_record = record_of(AddressCandidate(CandidateKind.PUBLIC, PLACE), relay=False)
    outputs = stage.found(ANNA, (BEN, NO_PEER_RECORD), (ANNA, peer_record))
    assert outputs
    assert PLACE in {output.address for output in outputs if hasattr(output, "address")}
    assert stage.found(ANNA, (ANNA, peer_record)) is None, "nobody asked again"


def test_peer_without_a_record_is_sought_again_from_all_holders() -> None:
    stage = Stage()
    for peer in (ANNA, BEN):
        stage.tell(PeerWanted(peer))
        stage.found(peer)
    stage.wait(0.0)
    while len(stage.heard(DialEnded)) < 2:
        deadline = stage.machine.deadline
        assert deadline is not None
        stage.wait(deadline - stage.now)
    stage.tell(Lost(BEN, "given up"))
    before = len(stage.directory.reads)
    stage.wait(AGAIN_S)
    assert (peer_record_key(ANNA), None) in stage.directory.reads[before:]
    assert peer_record_key(BEN) not in stage.directory.read[before:]


def test_a_peer_that_is_reached_is_wanted_no_longer() -> None:
    stage = Stage()
    stage.tell(PeerWanted(ANNA))
    stage.tell(LinkUp(ANNA, Way.PUBLIC, PLACE, called=True))
    before = len(stage.directory.reads)
    stage.wait(10 * AGAIN_S)
    assert peer_record_key(ANNA) not in stage.directory.read[before:]


def test_public_peer_offering_to_relay_is_called_over_ipv4_first() -> None:
    stage = Stage(at=LocalAddressesChanged(hosts=("10.0.0.7", "2a00::1"), port=PORT))
    six, four = (
        AddressCandidate(CandidateKind.IPV6, Address("2a00::9", 7)),
        AddressCandidate(CandidateKind.PUBLIC, Address("11.5.5.5", 7)),
    )
    stage.tell(PeerWanted(ANNA))
    stage.found(ANNA, (ANNA, record_of(six, four)))
    stage.wait(SCOUT_FIRST_S)
    asked = {output.address for output in stage.heard(AddAddress) if output.peer == ANNA}
    assert four.address in asked


def test_limits_for_relaying_hold_at_once() -> None:
    stage = Stage(relay=RelaySettings(circuits=3))
    assert stage.machine.traversal.relay.settings.circuits == 3
    stage.tell(RelayAllowed(RelaySettings(circuits=0)))
    assert stage.machine.traversal.relay.settings.circuits == 0


def test_messages_of_traversal_are_answered() -> None:
    stage = Stage()
    stage.tell(Observed(ANNA, "11.1.1.1", 7))
    (answer,) = stage.tell(Received(ANNA, Mirror(bytes(16), bytes(40))))
    assert isinstance(answer.message, Mirrored)
    assert answer.message.seen == Address("11.1.1.1", 7)
