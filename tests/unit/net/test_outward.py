"""The machine in front of a peer: who gets which event, and how cards come and go."""

import asyncio
import functools
import socket
from random import Random
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from core.base.ids import PeerId, hashed_key
from core.base.machine import Lost, Received, Send, Tick
from core.base.trace import Trace
from core.dht.events import Found, Learned, RecordStored
from core.dht.messages import Contact, Observed, Ping, Record
from core.nat.events import (
    AddAddress,
    AddressesChanged,
    AddressSeen,
    CheckReachability,
    DialEnded,
    FindPeerRecord,
    PeerRecordFound,
    PublishPeerRecord,
    ReachChanged,
    Way,
)
from core.nat.messages import Address, DialBackDatagram, Mirror
from core.nat.peer_record import (
    NO_PEER_RECORD,
    AddressCandidate,
    CandidateKind,
    PeerRecord,
    decode,
    encode,
    peer_record_key,
)
from core.nat.reachability import OwnReach, Reachability
from core.nat.relay import RelaySettings
from core.nat.traversal import Traversal
from core.net import interfaces as interfaces_module
from core.net import outward as outward_module
from core.net.interfaces import is_loopback, own_hosts
from core.net.outward import AGAIN_S, SCOUT_FIRST_S, Outward

ME, ANNA, BEN = (PeerId(hashed_key(name)) for name in (b"me", b"anna", b"ben"))
PLACE = Address("11.2.3.4", 5000)


def in_loop(test):
    @functools.wraps(test)
    def run(*args, **kwargs):
        asyncio.run(test(*args, **kwargs))

    return run


class Inner:
    def __init__(self) -> None:
        self.deadline: float | None = None
        self.heard: list[Any] = []

    def handle(self, event: Any, now: float) -> list[Any]:
        self.heard.append(event)
        return []


class Traversing(Traversal):
    """The real one, noting what it is told."""

    def __init__(self) -> None:
        super().__init__(ME, random=Random(1), trace=Trace())
        self.heard: list[Any] = []
        self.volunteers: dict[PeerId, tuple[Address, bool]] = {}

    def handle(self, event: Any, now: float) -> Any:
        self.heard.append(event)
        return super().handle(event, now)

    def volunteer(self, peer: PeerId, address: Address, now: float, *, relay: bool, trusted: bool = False) -> list[Any]:
        self.volunteers[peer] = (address, relay)
        return super().volunteer(peer, address, now, relay=relay, trusted=trusted)


class Directory:
    client = False
    ipv6 = True

    def __init__(self) -> None:
        self.contacts: list[Contact] = []
        self.read: list[tuple[bytes, int | None]] = []
        self.stored: list[tuple[bytes, bytes, bytes | None]] = []

    def get(self, key: Any, now: float, *, quorum: int | None = None, owner: Any = None) -> list[Any]:
        assert owner is not None
        self.read.append((key, quorum))
        return []

    def store(self, key: Any, value: bytes, *, lifetime_s: float, now: float, subkey: bytes | None = None) -> list[Any]:
        self.stored.append((key, value, subkey))
        return []


class PretendedHost:
    def __init__(self, outward: Outward) -> None:
        self.outward = outward
        self.sent: list[Send[Any]] = []
        self.known: dict[PeerId, Address] = {}
        self.moves = 0

    def learn(self, peer: PeerId, host: str, port: int, *, hearsay: bool = False) -> None:
        self.known[peer] = Address(host, port)

    def resolve(self, address: tuple[str, int], found: Any) -> None:
        found(("11.9.9.9", address[1]) if address[0] == "a.name" else address)

    def moved(self) -> None:
        self.moves += 1

    def deliver(self, event: Any) -> None:
        self.perform(self.outward.handle(event, self.outward._now()))

    def perform(self, outputs: Any) -> None:
        for output in outputs:
            if isinstance(output, Send):
                self.sent.append(output)
            else:
                self.outward.act(output, self.outward._now())

    def spawn(self, coroutine: Any) -> None:
        coroutine.close()


class Stage:
    """An Outward between pretended neighbours."""

    def __init__(self, *, begun: bool = True, helpers: tuple[Contact, ...] = ()) -> None:
        self.now = 1000.0
        self.inner, self.traversal, self.directory = Inner(), Traversing(), Directory()
        self.rest: list[Any] = []
        self.outward = Outward(
            self.inner,
            directory=self.directory,
            traversal=self.traversal,
            me=ME,
            now=lambda: self.now,
            rest=lambda event, _: self.rest.append(event),
            random=Random(2),
        )
        self.host: Any = PretendedHost(self.outward)
        if begun:
            self.outward.begin(self.host, bind="10.0.0.7", port=4000, helpers=helpers)

    def told(self, kind: type) -> list[Any]:
        return [event for event in self.traversal.heard if isinstance(event, kind)]

    async def found(self, peer: PeerId, *cards: tuple[PeerId, PeerRecord]) -> None:
        records = tuple(Record(owner, encode(peer_record), 2_000_000, bytes(64)) for owner, peer_record in cards)
        self.outward.act(Found(peer_record_key(peer), records), self.now)
        await asyncio.sleep(0)


def record_of(*listed: AddressCandidate, relay: bool = True) -> PeerRecord:
    return PeerRecord(listed, reachable=True, tcp_mapping="none", udp_mapping="none", quic=True, relays=(), relay=relay)


@in_loop
async def test_each_event_goes_to_whom_it_concerns():
    stage = Stage(begun=False)
    inner, outward = stage.inner, stage.outward
    for event in (Received(ANNA, Ping(1, False)), Received(ANNA, DialBackDatagram(bytes(16))), Lost(ANNA, "gone")):
        outward.handle(event, stage.now)
    outward.handle(Observed(ANNA, "11.1.1.1", 7), stage.now)
    assert [type(event) for event in inner.heard] == [Received, Lost, Observed]
    assert stage.traversal.heard == [
        Received(ANNA, DialBackDatagram(bytes(16))),
        Lost(ANNA, "gone"),
        AddressSeen(ANNA, Address("11.1.1.1", 7)),
    ]


@in_loop
async def test_only_those_whose_time_has_come_are_woken():
    stage = Stage(begun=False)
    stage.inner.deadline = 1005.0
    assert stage.outward.deadline == 1005.0
    stage.outward.handle(Tick(), 1004.0)
    assert not stage.inner.heard
    stage.outward.handle(Tick(), 1005.0)
    assert stage.inner.heard == [Tick()]
    assert not stage.told(Tick)


@in_loop
async def test_it_begins_with_where_we_are_and_tells_of_changes():
    stage = Stage()
    (located,) = stage.told(AddressesChanged)
    assert located.addresses == (AddressCandidate(CandidateKind.LAN, Address("10.0.0.7", 4000)),)
    assert (located.tcp_port, located.udp_port, located.moved) == (4000, 4000, True)
    stage.outward.mapped(Address("11.0.0.1", 4001))
    stage.outward.mapped(Address("11.0.0.1", 4001))
    stage.outward.moved()
    _, mapped, moved = stage.told(AddressesChanged)
    assert mapped.addresses[0] == AddressCandidate(CandidateKind.MAPPED, Address("11.0.0.1", 4001))
    assert (mapped.moved, moved.moved, stage.host.moves) == (False, True, 1)


@in_loop
async def test_addresses_beside_are_told_and_links_on_those_that_are_gone_end():
    stage = Stage()
    stage.outward.readdressed()
    _, beside = stage.told(AddressesChanged)
    assert (beside.moved, stage.host.moves) == (False, 1)
    assert stage.outward._rest_s == SCOUT_FIRST_S


@in_loop
async def test_the_first_helper_is_the_collaborations_own():
    helpers = tuple(Contact(peer, "11.1.1.1", 7) for peer in (ANNA, BEN))
    stage = Stage(helpers=helpers)
    assert stage.traversal.probes.ipv4._trusted == {ANNA}


@in_loop
async def test_before_it_has_begun_nothing_is_asked_of_the_host():
    stage = Stage(begun=False)
    stage.outward.moved()
    stage.outward.readdressed()
    stage.outward.wanted(ANNA)
    stage.outward.helper(ANNA, "11.1.1.1", 1, relay=True)
    stage.outward.mapped(PLACE)
    assert not stage.traversal.heard
    assert not stage.traversal.volunteers


@in_loop
async def test_helpers_are_named_by_address_or_name_but_not_on_this_computer():
    stage = Stage()
    stage.outward.helper(ANNA, "a.name", 7, relay=True)
    stage.outward.helper(BEN, "127.0.0.1", 7, relay=True)
    stage.outward.helper(ME, "11.1.1.1", 7, relay=True)
    assert stage.traversal.volunteers == {ANNA: (Address("11.9.9.9", 7), True)}


@in_loop
async def test_a_card_is_looked_up_and_what_is_found_is_told():
    stage = Stage()
    stage.outward.act(FindPeerRecord(ANNA), stage.now)
    assert not stage.directory.read, "not while outputs are being performed"
    await asyncio.sleep(0)
    assert stage.directory.read == [(peer_record_key(ANNA), 1)]
    peer_record = record_of(relay=False)
    await stage.found(ANNA, (BEN, NO_PEER_RECORD), (ANNA, peer_record))
    assert stage.told(PeerRecordFound) == [PeerRecordFound(ANNA, peer_record)]
    await stage.found(ANNA, (ANNA, peer_record))
    assert len(stage.told(PeerRecordFound)) == 1, "nobody asked again"
    assert not stage.rest


@in_loop
async def test_what_is_no_card_is_none():
    stage = Stage()
    stage.outward.act(FindPeerRecord(ANNA), stage.now)
    await asyncio.sleep(0)
    stage.outward.act(Found(peer_record_key(ANNA), (Record(ANNA, b"garbage", 2_000_000, bytes(64)),)), stage.now)
    await asyncio.sleep(0)
    assert stage.told(PeerRecordFound) == [PeerRecordFound(ANNA, None)]


@in_loop
async def test_a_card_that_misled_is_read_from_all_holders_the_next_time():
    stage = Stage()
    stage.outward.act(DialEnded(ANNA, None, "nobody answered"), stage.now)
    stage.outward.act(FindPeerRecord(ANNA), stage.now)
    await asyncio.sleep(0)
    assert stage.directory.read == [(peer_record_key(ANNA), None)]
    stage.outward.act(DialEnded(ANNA, Way.RELAY), stage.now)
    stage.outward.act(FindPeerRecord(ANNA), stage.now)
    await asyncio.sleep(0)
    assert stage.directory.read[-1] == (peer_record_key(ANNA), 1)
    assert [event.way for event in stage.rest] == [None, Way.RELAY]


@in_loop
async def test_whoever_is_still_wanted_is_looked_for_again():
    stage = Stage()
    stage.outward.wanted(ANNA)
    stage.outward.wanted(BEN)
    await asyncio.sleep(0)
    for peer in (ANNA, BEN):
        await stage.found(peer)
    stage.outward.handle(Lost(BEN, "given up"), stage.now)
    assert [event.way for event in stage.rest] == [None, None]
    stage.now += AGAIN_S
    assert stage.outward.deadline is not None
    assert stage.outward.deadline <= stage.now
    stage.host.perform(stage.outward.handle(Tick(), stage.now))
    await asyncio.sleep(0)
    assert [key for key, _ in stage.directory.read] == [
        peer_record_key(ANNA),
        peer_record_key(BEN),
        peer_record_key(ANNA),
    ]


@in_loop
async def test_a_card_that_offers_a_relay_names_a_helper():
    stage = Stage()
    stage.outward.act(FindPeerRecord(ANNA), stage.now)
    await asyncio.sleep(0)
    lan, public = (
        AddressCandidate(CandidateKind.LAN, Address("10.0.0.9", 1)),
        AddressCandidate(CandidateKind.PUBLIC, PLACE),
    )
    await stage.found(ANNA, (ANNA, record_of(lan, public)))
    assert stage.traversal.volunteers == {ANNA: (PLACE, True)}


@in_loop
async def test_our_card_is_stored_until_somebody_else_holds_it():
    stage = Stage()
    stage.outward.act(PublishPeerRecord(NO_PEER_RECORD), stage.now)
    ((key, value, subkey),) = stage.directory.stored
    assert (key, decode(value), subkey) == (peer_record_key(ME), NO_PEER_RECORD, ME)
    stage.outward.act(RecordStored(peer_record_key(ME), ME, 1), stage.now)
    stage.now += SCOUT_FIRST_S
    stage.outward.handle(Tick(), stage.now)
    assert len(stage.directory.stored) == 2
    stage.outward.act(RecordStored(peer_record_key(ME), ME, 2), stage.now)
    stage.now += 60
    stage.outward.handle(Tick(), stage.now)
    assert len(stage.directory.stored) == 2


@in_loop
async def test_helpers_are_found_among_those_who_answer_in_the_dht():
    stage = Stage()
    stage.directory.contacts = [Contact(ANNA, "11.1.1.1", 7), Contact(BEN, "10.0.0.3", 7)]
    before = stage.outward.deadline
    assert before is not None
    stage.now += SCOUT_FIRST_S
    stage.outward.handle(Tick(), stage.now)
    assert stage.traversal.volunteers == {ANNA: (Address("11.1.1.1", 7), False)}
    assert stage.directory.read == [(peer_record_key(ANNA), 1)]
    stage.traversal.probes.ipv4.tcp = True
    stage.outward.handle(Tick(), stage.now)
    stage.now += 60
    stage.outward.handle(Tick(), stage.now)
    assert len(stage.directory.read) == 1, "whoever is reachable needs no relay"


@in_loop
async def test_the_questions_that_are_open_are_bounded(monkeypatch):
    monkeypatch.setattr(outward_module, "ASKED_MAX", 2)
    monkeypatch.setattr(outward_module, "DOUBTED_MAX", 2)
    stage = Stage()
    for number in range(5):
        peer = PeerId(hashed_key(bytes([number])))
        stage.outward.act(FindPeerRecord(peer), stage.now)
        stage.outward.act(DialEnded(peer, None), stage.now)
    await asyncio.sleep(0)
    assert (len(stage.outward._asked), len(stage.outward._doubted)) == (2, 2)


@in_loop
async def test_what_traversal_asks_of_the_host_is_done_and_the_rest_goes_on():
    stage = Stage()
    learned, changed = Learned(Contact(BEN, "11.0.0.1", 1)), ReachChanged(OwnReach(Reachability.REACHABLE))
    for event in (AddAddress(ANNA, PLACE), learned, changed):
        stage.outward.act(event, stage.now)
    assert stage.host.known == {ANNA: PLACE}
    assert stage.rest == [learned, changed]
    stage.outward.wanted(ANNA)
    await asyncio.sleep(0)
    assert stage.directory.read == [(peer_record_key(ANNA), 1)]


@in_loop
async def test_mirrors_are_asked_through_the_host():
    stage = Stage(helpers=(Contact(ANNA, "11.1.1.1", 7),))
    assert stage.host.known == {ANNA: Address("11.1.1.1", 7)}
    assert any(isinstance(send.message, Mirror) and send.to == ANNA for send in stage.host.sent)


@in_loop
async def test_what_the_person_wants_reaches_traversal_before_and_after_the_start():
    stage = Stage(begun=False)
    stage.outward.examine()
    stage.outward.carry(RelaySettings(circuits=0))
    assert stage.traversal.relay.settings.circuits == 0
    assert not stage.traversal.heard
    stage = Stage()
    stage.outward.examine()
    stage.outward.carry(RelaySettings(circuits=3))
    assert len(stage.told(CheckReachability)) == 1
    assert stage.traversal.relay.settings.circuits == 3
    assert not stage.outward.forwarded
    stage.outward.mapped(PLACE)
    assert stage.outward.forwarded


@pytest.mark.parametrize(
    ("bind", "expected"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False)]
)
def test_loopback(bind, expected):
    assert is_loopback(bind) is expected


def test_own_hosts():
    assert own_hosts("10.1.2.3") == ["10.1.2.3"]
    assert own_hosts("a.name") == own_hosts("fe80::1%eth0") == []
    everywhere = own_hosts("0.0.0.0")
    assert not [host for host in everywhere if host == "::1" or host.startswith(("127.", "fe80:"))]
    assert everywhere == sorted(everywhere, key=lambda host: ":" in host)
    assert own_hosts("::") == [host for host in everywhere if ":" in host]


def interfaces_of(monkeypatch, *hosts):
    """A computer with these addresses, whose calls over IPv6 leave from the last public one."""
    listed = [
        SimpleNamespace(family=socket.AF_INET6 if ":" in host else socket.AF_INET, address=host) for host in hosts
    ]
    monkeypatch.setattr(psutil, "net_if_addrs", lambda: {"eth0": listed})
    last = [host for host in hosts if host.startswith("2a00:")]
    monkeypatch.setattr(interfaces_module, "leaving_from", lambda: last[-1] if last else None)


def test_of_ipv6_the_address_in_use_another_one_and_one_of_the_network_are_listed(monkeypatch):
    hosts = ("::1", "fe80::1%eth0", "fd00::7", "fd00::8", *(f"2a00::{n}" for n in range(1, 5)), "10.0.0.7")
    interfaces_of(monkeypatch, *hosts)
    assert own_hosts("0.0.0.0") == ["10.0.0.7", "2a00::4", "2a00::1", "fd00::7"]
    assert own_hosts("::") == ["2a00::4", "2a00::1", "fd00::7"]


@in_loop
async def test_the_card_lists_the_most_useful_addresses_first_and_the_dht_knows_whether_there_is_ipv6(monkeypatch):
    interfaces_of(monkeypatch, "10.0.0.7", "fd00::7", "2a00::1", "fe80::1%eth0")
    stage = Stage(begun=False)
    stage.outward.mapped(Address("11.9.9.9", 5))
    stage.outward.begin(stage.host, bind="0.0.0.0", port=4000)
    (located,) = stage.told(AddressesChanged)
    assert located.addresses == (
        AddressCandidate(CandidateKind.MAPPED, Address("11.9.9.9", 5)),
        AddressCandidate(CandidateKind.IPV6, Address("2a00::1", 4000)),
        AddressCandidate(CandidateKind.LAN, Address("10.0.0.7", 4000)),
        AddressCandidate(CandidateKind.LAN, Address("fd00::7", 4000)),
    )
    assert stage.directory.ipv6
    interfaces_of(monkeypatch, "10.0.0.7")
    stage.outward.moved()
    assert not stage.directory.ipv6


@in_loop
async def test_helpers_are_called_over_ipv4_and_asked_about_ipv6_too():
    stage = Stage()
    six, four = (
        AddressCandidate(CandidateKind.IPV6, Address("2a00::9", 7)),
        AddressCandidate(CandidateKind.PUBLIC, Address("11.5.5.5", 7)),
    )
    stage.outward._read(ANNA, stage.now)
    await stage.found(ANNA, (ANNA, record_of(six, four)))
    assert dict(stage.traversal.probes.ipv6._candidates) == {ANNA: six.address}
    assert dict(stage.traversal.probes.ipv4._candidates) == {ANNA: four.address}
    assert dict(stage.traversal.mirroring._candidates) == {ANNA: four.address}
