"""What relays and strangers may say to the whole machine, and what they get for it."""

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, Trace
from core.nat.circuits import ASKS_BURST
from core.nat.dials import PUNCHES_FOR_OTHERS_MAX
from core.nat.events import (
    AddressesChanged,
    AddressSeen,
    AttemptFailed,
    DialBackTried,
    LinkUp,
    PeerRecordFound,
    PeerWanted,
    PublicPeerFound,
    Punch,
    Way,
)
from core.nat.messages import (
    NAT_MESSAGES,
    AcceptCircuit,
    Address,
    AskObservedAddress,
    CircuitAccepted,
    CircuitAck,
    CircuitData,
    CircuitRequested,
    CloseCircuit,
    DialBack,
    DialBackDatagram,
    DialBackResult,
    Mirror,
    Mirrored,
    ObservedAddress,
    OpenCircuit,
    PunchOffer,
    Relay,
    Reserve,
    Reserved,
    Unreserved,
)
from core.nat.traversal import Traversal
from tests.unit.nat.worlds import world_of


def test_a_stranger_cannot_open_a_circuit_past_our_relays() -> None:
    world, helpers, (a,) = world_of("kept")
    stranger = next(h for h in helpers if all(h.peer != relay.peer for relay in a.machine.reservations.held))
    opening = CircuitRequested(bytes(16), stranger.peer, None, resume=False, received=0, carried=True)
    world.tell(a, Received(stranger.peer, opening))
    assert len(a.machine.circuits.opened) == 0
    assert a.trace["nat.circuit.refused"] == 1


def test_an_answer_that_comes_too_late_closes_the_circuit() -> None:
    machine = Traversal(PeerId(bytes([99]) * 32), random=Random(1), trace=Trace())
    relay = PeerId(bytes([1]) * 32)
    outputs = machine.handle(Received(relay, CircuitAccepted(bytes(16), None, 0, carried=True)), 1000.0)
    assert outputs == [Send(relay, CloseCircuit(bytes(16), "too late", final=True))]


def test_a_stranger_cannot_take_a_circuit_over() -> None:
    world, helpers, (a, b) = world_of("symmetric", "symmetric", public=8)
    world.dial(a, b)
    world.run(10)
    ((circuit, _),) = b.circuits.items()
    end = b.machine.circuits.opened[circuit].endpoint
    assert end is not None
    relay = end.relay
    known = {held.peer for home in (a, b) for held in home.machine.reservations.held}
    stranger = next(helper for helper in helpers if helper.peer not in known)
    opening = CircuitRequested(circuit, a.peer, None, resume=True, received=0, carried=True)
    world.tell(b, Received(stranger.peer, opening))
    assert end.relay == relay
    assert b.trace["nat.circuit.stray"] == 1


def test_a_relay_cannot_make_us_punch_without_end() -> None:
    world, _, (a,) = world_of("kept")
    relay = PeerId(a.machine.reservations.held[0].peer)
    offer = PunchOffer(bytes(16), (Address("66.6.6.6", 80),), (), "kept", "kept", quic=True, one_way_ms=0, relays=())
    for number in range(500):
        circuit, opener = number.to_bytes(16, "big"), number.to_bytes(32, "big")
        opening = CircuitRequested(circuit, opener, offer, resume=False, received=0, carried=True)
        world.tell(a, Received(relay, opening))
    assert len(a.machine.circuits.opened) <= ASKS_BURST
    assert len(a.punches) <= PUNCHES_FOR_OTHERS_MAX


PEERS = [PeerId(bytes([number]) * 32) for number in range(4)]
ADDRESS = st.builds(Address, st.sampled_from(["30.1.0.1", "192.168.1.4", "x"]), st.integers(1, 65535))
NONCE = st.sampled_from([bytes(16), bytes([1]) * 16, bytes([2]) * 16])
RELAYS = st.lists(st.builds(Relay, st.sampled_from(PEERS), ADDRESS), max_size=2).map(tuple)
MAPPINGS = st.sampled_from(["none", "kept", "moved", "symmetric", "unknown"])
ADDRESSES = st.lists(ADDRESS, max_size=4).map(tuple)
OFFERS: Any = st.builds(
    PunchOffer, NONCE, ADDRESSES, ADDRESSES, MAPPINGS, MAPPINGS, st.booleans(), st.integers(0, 60000), RELAYS
)
NUMBER = st.sampled_from([0, 1, 100, 2**40])
FLAG = st.booleans()
TEXT = st.sampled_from(["", "no"])
PEER = st.sampled_from(PEERS)
MESSAGES: Any = st.one_of(
    st.builds(Mirror, NONCE),
    st.builds(Mirrored, NONCE, ADDRESS, st.integers(0, 65535), st.integers(0, 100)),
    st.builds(DialBack, NONCE, st.integers(0, 65535), st.integers(0, 65535)),
    st.builds(DialBackDatagram, NONCE),
    st.builds(DialBackResult, NONCE, FLAG, FLAG),
    st.just(AskObservedAddress()),
    st.builds(ObservedAddress, ADDRESS),
    st.just(Reserve()),
    st.builds(Reserved, st.integers(10, 86400), st.none() | ADDRESS, st.integers(0, 100)),
    st.builds(Unreserved, TEXT),
    st.builds(OpenCircuit, NONCE, PEER, st.none() | OFFERS, FLAG, FLAG, NUMBER),
    st.builds(CircuitRequested, NONCE, PEER, st.none() | OFFERS, FLAG, NUMBER, FLAG),
    st.builds(AcceptCircuit, NONCE, st.none() | OFFERS, NUMBER),
    st.builds(CircuitAccepted, NONCE, st.none() | OFFERS, NUMBER, FLAG),
    st.builds(CircuitData, NONCE, NUMBER, st.just(b"x" * 1000)),
    st.builds(CircuitAck, NONCE, NUMBER, st.integers(0, 2**22), FLAG, FLAG),
    st.builds(CloseCircuit, NONCE, TEXT, FLAG),
)
EVENTS: Any = st.one_of(
    st.builds(Received, PEER, MESSAGES), st.builds(Received, PEER, MESSAGES), st.builds(Received, PEER, MESSAGES),
    st.just(Tick()), st.builds(Lost, PEER, TEXT), st.builds(AddressSeen, PEER, ADDRESS),
    st.builds(LinkUp, PEER, st.sampled_from(Way), st.none() | ADDRESS, FLAG, st.integers(0, 5)),
    st.builds(AttemptFailed, st.integers(0, 5), TEXT), st.builds(PeerRecordFound, PEER, st.none()),
    st.builds(DialBackTried, NONCE, FLAG), st.builds(PeerWanted, PEER),
)  # fmt: skip


def test_one_peer_has_one_punch_of_ours_at_a_time() -> None:
    world, _, (a,) = world_of("kept")
    relay = PeerId(a.machine.reservations.held[0].peer)
    offer = PunchOffer(bytes(16), (Address("66.6.6.6", 80),), (), "kept", "kept", quic=True, one_way_ms=0, relays=())
    for number in range(20):
        circuit = number.to_bytes(16, "big")
        opening = CircuitRequested(circuit, PEERS[1], offer, resume=False, received=0, carried=number == 0)
        world.tell(a, Received(relay, opening))
    assert len(a.punches) == 1


def test_a_relay_that_invents_circuits_closes_no_other_relay() -> None:
    world, _, (a,) = world_of("kept")
    liar, honest = (PeerId(relay.peer) for relay in a.machine.reservations.held)
    for number in range(60):
        opening = CircuitRequested(
            number.to_bytes(16, "big"), number.to_bytes(32, "big"), None, resume=False, received=0, carried=True
        )
        world.tell(a, Received(liar, opening))
    refused = a.trace["nat.circuit.refused"]
    assert refused
    opening = CircuitRequested(bytes([9]) * 16, PEERS[1], None, resume=False, received=0, carried=True)
    world.tell(a, Received(honest, opening))
    assert bytes([9]) * 16 in a.machine.circuits.opened
    assert a.trace["nat.circuit.refused"] == refused


def punches_asked_for(a: Any, number: int, now: float) -> int:
    """Number of punches that begin where a peer asks for one through a relay."""
    relay = PeerId(a.machine.reservations.held[0].peer)
    offer = PunchOffer(bytes(16), (Address("66.6.6.6", 80),), (), "kept", "kept", quic=True, one_way_ms=0, relays=())
    circuit = number.to_bytes(16, "big")
    opening = CircuitRequested(circuit, PEERS[1], offer, resume=False, received=0, carried=False)
    return sum(isinstance(out, Punch) for out in a.machine.handle(Received(relay, opening), now))


def test_peer_to_which_no_punch_leads_gets_few() -> None:
    world, _, (a,) = world_of("kept")
    punches = 0
    for number in range(300):
        punches += punches_asked_for(a, number, world.now)
        world.run(1)
    assert 1 <= punches <= 6


def test_in_a_new_network_every_peer_gets_a_punch() -> None:
    world, _, (a,) = world_of("kept")
    for number in range(100):
        punches_asked_for(a, number, world.now)
        world.run(1)
    assert not punches_asked_for(a, 100, world.now)
    world.tell(a, AddressesChanged(addresses=(), tcp_port=31337, udp_port=31337))
    assert punches_asked_for(a, 101, world.now) == 1


def test_punch_is_not_put_off_for_long() -> None:
    world, _, (a,) = world_of("kept")
    relay = PeerId(a.machine.reservations.held[0].peer)
    offer = PunchOffer(
        bytes(16), (Address("66.6.6.6", 80),), (), "kept", "kept", quic=True, one_way_ms=60_000, relays=()
    )
    opening = CircuitRequested(bytes(16), PEERS[1], offer, resume=False, received=0, carried=True)
    world.tell(a, Received(relay, opening))
    assert a.punches[PEERS[1]].at <= world.now + 2


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(EVENTS, st.floats(0, 20)), max_size=60))
def test_nothing_from_outside_raises(events: list[tuple[Any, float]]) -> None:
    me = PeerId(bytes([99]) * 32)
    machine = Traversal(me, random=Random(1), trace=Trace())
    now = 1000.0
    for peer in PEERS[1:]:
        machine.handle(PublicPeerFound(peer, Address(f"30.{peer[0]}.0.1", 1), relay=True), now)
    waiting = list(machine.handle(AddressesChanged(addresses=(), tcp_port=1, udp_port=1), now))
    for output in waiting:
        match output:
            case Send(to=to, message=Mirror(nonce=nonce)):
                seen = Address("20.0.0.9", 1000 + to[0])
                waiting += machine.handle(Received(to, Mirrored(nonce, seen, 0, 0)), now)
            case Send(to=to, message=Reserve()):
                waiting += machine.handle(Received(to, Reserved(600, None, 0)), now)
    assert machine.reach.relays == 2
    for event, wait_s in events:
        now += wait_s
        machine.handle(event, now)
        for _ in range(20):
            deadline = machine.deadline
            if deadline is None or deadline > now:
                break
            machine.handle(Tick(), now)
        else:
            pytest.fail("it wants to be woken again and again")


def test_all_messages_are_in_the_fuzz() -> None:
    assert len(NAT_MESSAGES) == 17


def test_peer_naming_us_as_relay_is_not_asked_through_ourselves() -> None:
    world, _, (a,) = world_of("kept")
    relays = [PeerId(held.peer) for held in a.machine.reservations.held]
    named = (Relay(a.peer, Address("30.1.0.1", 1)),)
    offer = PunchOffer(bytes(16), (), (), "kept", "kept", quic=True, one_way_ms=0, relays=named)
    opening = CircuitRequested(bytes(16), PEERS[1], offer, resume=False, received=0, carried=True)
    sent = list(a.machine.handle(Received(relays[0], opening), world.now))
    for relay in relays:
        sent += a.machine.handle(Lost(relay, "gone"), world.now)
    for _ in range(50):
        now = a.machine.deadline
        assert now is not None
        sent += a.machine.handle(Tick(), max(now, world.now))
    assert all(output.to != a.peer for output in sent if isinstance(output, Send))
