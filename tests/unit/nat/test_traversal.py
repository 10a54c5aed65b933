"""The whole machine among routers of every kind, in the simulated Internet of `core.sim.nat_world`."""

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick
from core.base.trace import Trace
from core.nat.circuits import ASKS_BURST
from core.nat.dials import PUNCHES_FOR_OTHERS_MAX
from core.nat.events import (
    AddressesChanged,
    AddressSeen,
    AttemptFailed,
    CheckReachability,
    DialBackTried,
    LinkUp,
    PeerRecordFound,
    PeerWanted,
    PublicPeerFound,
    PublishPeerRecord,
    ReachChanged,
    RelayAllowed,
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
from core.nat.peer_record import AddressCandidate, CandidateKind
from core.nat.reachability import Reachability
from core.nat.relay import RelaySettings
from core.nat.traversal import Traversal
from core.sim.nat_boxes import Nature
from core.sim.nat_homes import SimulatedHome
from core.sim.nat_world import NatWorld

NATURES: tuple[Nature, ...] = ("public", "kept", "moved", "symmetric")


def world_of(
    *natures: Nature, public: int = 4, relay: RelaySettings | None = None, field_success: float = 1.0
) -> tuple[NatWorld, list[SimulatedHome], list[SimulatedHome]]:
    """Some public peers, and the peers in question; all know the public ones and have found out about themselves."""
    world = NatWorld(1, relay=relay, field_success=field_success)
    helpers = [world.add("public") for _ in range(public)]
    homes = [world.add(nature) for nature in natures]
    for home in (*helpers, *homes):
        world.start(home)
        for other in helpers:
            if other is not home:
                world.introduce(home, other, relay=True)
    world.run(40)
    return world, helpers, homes


@pytest.mark.parametrize(
    ("nature", "standing", "tcp"),
    [
        ("public", Reachability.REACHABLE, "none"),
        ("kept", Reachability.PUNCHABLE, "kept"),
        ("moved", Reachability.PUNCHABLE, "moved"),
        ("symmetric", Reachability.RELAYED, "symmetric"),
    ],
)
def test_a_peer_gets_to_know_itself(nature: Nature, standing: Reachability, tcp: str) -> None:
    _, _, (home,) = world_of(nature)
    reach = home.machine.reach
    assert (reach.standing, reach.tcp, reach.udp) == (standing, tcp, tcp)
    assert reach.relays == (0 if nature == "public" else 2)
    assert reach.client == (nature == "symmetric")
    assert reach.sentence.endswith(".")
    assert bool(reach.advice) == (nature != "public")


@pytest.mark.parametrize("theirs", NATURES)
@pytest.mark.parametrize("mine", NATURES)
def test_every_pair_connects_and_only_symmetric_pairs_stay_relayed(mine: Nature, theirs: Nature) -> None:
    world, _, (a, b) = world_of(mine, theirs)
    world.dial(a, b)
    world.run(15)
    way = a.ended[b.peer].way
    if theirs == "public":
        assert way is Way.PUBLIC
    elif {mine, theirs} == {"symmetric"}:
        assert way is Way.RELAY
    elif mine == "symmetric" or (theirs == "symmetric" and mine != "public"):
        assert way is Way.BIRTHDAY
    else:
        assert way is Way.TCP_PUNCH
    seconds, _ = world.first_byte_s[a.peer, b.peer]
    assert seconds < 4


@pytest.mark.parametrize("guard", ["public", "kept"])
def test_two_behind_symmetric_routers_meet_over_ipv6(guard: Nature) -> None:
    world = NatWorld(1)
    helpers = [world.add("public", ipv6="public") for _ in range(4)]
    a, b = (world.add("symmetric", ipv6=guard) for _ in range(2))
    for home in (*helpers, a, b):
        world.start(home)
        for other in helpers:
            if other is not home:
                world.introduce(home, other, relay=True)
    world.run(40)
    reach = a.machine.reach
    assert (reach.standing, reach.udp, reach.relays) == (Reachability.RELAYED, "symmetric", 2)
    assert reach.ipv6 == (guard == "public")
    assert reach.sentence.endswith(" Volunteers with IPv6 reach it directly.") == (guard == "public")
    assert world.peer_records[a.peer].reachable_ipv6 == (guard == "public")
    assert helpers[0].machine.reach.standing is Reachability.REACHABLE
    world.dial(a, b)
    world.run(15)
    assert a.ended[b.peer].way is (Way.IPV6 if guard == "public" else Way.TCP_PUNCH)
    assert all(":" not in relay.address.host for relay in world.peer_records[a.peer].relays)


def test_ipv6_of_one_side_alone_helps_nobody() -> None:
    world = NatWorld(1)
    helpers = [world.add("public") for _ in range(4)]
    a, b = world.add("symmetric", ipv6="public"), world.add("symmetric")
    for home in (*helpers, a, b):
        world.start(home)
        for other in helpers:
            if other is not home:
                world.introduce(home, other, relay=True)
    world.run(40)
    assert not a.machine.reach.ipv6
    for one, other in ((a, b), (b, a)):
        world.dial(one, other)
        world.run(15)
        assert one.ended[other.peer].way is Way.RELAY
        world.part(one, other)


def test_a_punch_that_does_not_get_through_leaves_the_relay() -> None:
    world, _, (a, b) = world_of("kept", "kept", field_success=0.0)
    world.dial(a, b)
    world.run(15)
    assert a.ended[b.peer].way is Way.RELAY
    assert world.first_byte_s[a.peer, b.peer][1] is Way.RELAY


def test_a_relayed_link_is_upgraded_when_a_direct_way_appears() -> None:
    world, _, (a, b) = world_of("kept", "kept", field_success=0.0)
    world.dial(a, b)
    world.run(15)
    world.punches.success = 1.0
    world.run(60)
    assert a.links[b.peer] is Way.TCP_PUNCH
    assert a.ended[b.peer].way is Way.TCP_PUNCH


@pytest.mark.parametrize("seed", range(8))
def test_a_relay_dies_and_the_other_takes_over_without_loss(seed: int) -> None:
    world, helpers, (a, b) = world_of("symmetric", "symmetric")
    world.dial(a, b)
    world.run(10)
    ((circuit, _),) = a.circuits.items()
    end = a.machine.circuits.opened[circuit].endpoint
    assert end is not None
    relay = world.homes[end.relay] if end.relay is not None else helpers[0]
    random = Random(seed)
    data = random.randbytes(400_000)
    before = len(b.got[circuit])
    world.use(a, circuit, lambda end: end.write(data[:200_000], world.now))
    world.run(random.uniform(0, 0.4))
    world.kill(relay)
    world.use(a, circuit, lambda end: end.write(data[200_000:], world.now))
    died_at = world.now
    while len(b.got[circuit]) < before + len(data) and world.now < died_at + 10:
        world.run(0.05)
    assert b.got[circuit][before:] == data
    assert a.machine.circuits.takeovers + b.machine.circuits.takeovers >= 1
    assert end.relay not in {None, relay.peer}


def test_silent_relay_is_left_within_two_seconds() -> None:
    world, helpers, (a, b) = world_of("symmetric", "symmetric")
    world.dial(a, b)
    world.run(10)
    ((circuit, _),) = a.circuits.items()
    end = a.machine.circuits.opened[circuit].endpoint
    assert end is not None
    relay = next(helper for helper in helpers if helper.peer == end.relay)
    relay.up = False
    world.use(a, circuit, lambda end: end.write(b"after", world.now))
    world.run(2.0)
    assert end.relay not in {None, relay.peer}
    assert b.got[circuit].endswith(b"after")


def test_circuit_with_a_vanished_end_asks_rarely() -> None:
    world, _, (a, b) = world_of("symmetric", "symmetric", public=1)
    world.dial(a, b)
    world.run(10)
    asked: list[OpenCircuit] = []
    perform = world.perform

    def watching(home: SimulatedHome, outputs: Any) -> None:
        asked.extend(out.message for out in outputs if isinstance(out, Send) and isinstance(out.message, OpenCircuit))
        perform(home, outputs)

    world.perform = watching  # type: ignore[method-assign]
    world.kill(b)
    ((circuit, _),) = a.circuits.items()
    world.use(a, circuit, lambda end: end.write(b"anybody?", world.now))
    world.run(30)
    assert 3 <= len(asked) <= 25
    assert len(a.machine.circuits.opened) == 0


def test_full_relays_still_introduce() -> None:
    world, _, (a, b, c, d) = world_of(
        "symmetric", "symmetric", "kept", "kept", public=2, relay=RelaySettings(circuits=1, circuits_per_peer=1)
    )
    world.dial(a, b)
    world.run(10)
    world.dial(c, d)
    world.run(10)
    assert c.ended[d.peer].way is Way.TCP_PUNCH


def test_a_peer_that_is_gone_ends_the_call() -> None:
    world, _, (a, b) = world_of("kept", "kept")
    world.kill(b)
    world.run(1)
    world.dial(a, b)
    world.run(40)
    assert a.ended[b.peer].way is None
    assert a.ended[b.peer].reason


def test_a_peer_without_a_card_cannot_be_called() -> None:
    world, _, (a,) = world_of("kept")
    b = world.add("kept")
    world.dial(a, b)
    world.run(10)
    assert a.ended[b.peer].way is None
    assert a.ended[b.peer].reason == "no peer record"


def test_a_new_network_is_found_out_about() -> None:
    world, _, (a,) = world_of("symmetric")
    a.box.nature = "kept"
    world.tell(
        a,
        AddressesChanged(
            addresses=(AddressCandidate(CandidateKind.LAN, Address("10.0.0.5", 31337)),), tcp_port=31337, udp_port=31337
        ),
    )
    for home in list(world.homes.values()):
        if home is not a and a.links.pop(home.peer, None) is not None:
            home.links.pop(a.peer)
            world.tell(a, Lost(home.peer, "network changed"))
            world.tell(home, Lost(a.peer, "network changed"))
    world.run(90)
    assert a.machine.reach.standing is Reachability.PUNCHABLE
    assert a.machine.reach.relays == 2


def test_reachability_does_not_flap() -> None:
    world, _, (a, b) = world_of("kept", "public", public=12)
    changes: list[ReachChanged] = []
    perform = world.perform

    def watching(home: SimulatedHome, outputs: Any) -> None:
        changes.extend(out for out in outputs if isinstance(out, ReachChanged) and home.peer in {a.peer, b.peer})
        perform(home, outputs)

    world.perform = watching  # type: ignore[method-assign]
    mapped = AddressCandidate(CandidateKind.MAPPED, Address(a.box.host, 5))
    world.tell(a, AddressesChanged(addresses=(mapped,), tcp_port=31337, udp_port=31337, moved=False))
    world.run(1500)
    assert changes == []
    assert mapped in world.peer_records[a.peer].addresses


def test_a_router_is_not_another_one_because_helpers_go() -> None:
    world, (one, _), (home,) = world_of("kept", public=2)
    assert home.machine.reach.standing is Reachability.PUNCHABLE
    world.kill(one)
    world.run(300)
    assert home.machine.reach.udp == "unknown"
    assert home.machine.reach.standing is Reachability.PUNCHABLE


def test_nobody_there_is_offline() -> None:
    world = NatWorld(1)
    home = world.add("kept")
    world.start(home)
    world.run(20)
    assert home.machine.reach.standing is Reachability.OFFLINE
    assert home.machine.reach.advice


def test_public_peer_with_few_dial_backs_wakes_rarely() -> None:
    world, _, (home,) = world_of("public", public=1)
    assert home.machine.reach.standing is Reachability.UNKNOWN
    assert home.machine.deadline is not None
    assert home.machine.deadline > world.now


def test_one_helper_relays_a_peer_behind_an_unknown_router() -> None:
    world, (helper,), (a, b) = world_of("kept", "symmetric", public=1)
    for home in (a, b):
        assert home.machine.reach.udp == "unknown"
        assert home.machine.reach.standing is Reachability.RELAYED
        assert [relay.peer for relay in home.machine.reservations.held] == [helper.peer]
    world.dial(a, b)
    world.run(10)
    assert a.ended[b.peer].way is Way.RELAY


@pytest.mark.parametrize(("trusted", "within_s"), [(True, 8.0), (False, 60.0)])
def test_public_peer_with_a_single_helper_is_reachable(*, trusted: bool, within_s: float) -> None:
    world = NatWorld(1)
    helper, home = world.add("public"), world.add("public")
    for one in (helper, home):
        world.start(one)
    address = Address(helper.box.host, 31337)
    world.tell(home, PublicPeerFound(helper.peer, address, relay=True, trusted=trusted))
    world.run(within_s)
    assert home.machine.reach.standing is Reachability.REACHABLE
    assert world.peer_records[home.peer].relay


def test_router_admitting_only_called_hosts_is_not_reachable() -> None:
    """One helper says that it gets through; that says nothing of strangers while there is a router between."""
    world = NatWorld(1)
    helper, home = world.add("public"), world.add("kept")
    for one in (helper, home):
        world.start(one)
    address = Address(helper.box.host, 31337)
    world.tell(home, PublicPeerFound(helper.peer, address, relay=True, trusted=True))
    world.run(20)
    home.machine.probes.ipv4.single_verdict = True
    world.tell(home, Tick())
    assert home.machine.probes.ipv4.single_verdict
    assert home.machine.reach.standing is Reachability.RELAYED


def test_another_address_beside_changes_the_card_and_nothing_else() -> None:
    world, _, (a,) = world_of("kept")
    before, seen, relays = a.machine.reach, a.machine.mirroring.observations, a.machine.reservations.held
    lan, bridge = (
        AddressCandidate(CandidateKind.LAN, Address(a.inside, 31337)),
        AddressCandidate(CandidateKind.LAN, Address("172.17.0.1", 31337)),
    )
    world.tell(a, AddressesChanged(addresses=(lan, bridge), tcp_port=31337, udp_port=31337, moved=False))
    assert (a.machine.reach, a.machine.mirroring.observations, a.machine.reservations.held) == (before, seen, relays)
    assert world.peer_records[a.peer].addresses == (lan, bridge)
    world.run(300)
    assert a.machine.reach == before


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


def test_relay_setting_is_published_at_once() -> None:
    _, _, (home,) = world_of("public")
    for limits, carries in ((RelaySettings(circuits=0), False), (RelaySettings(), True)):
        outputs = home.machine.handle(RelayAllowed(limits), 50.0)
        (peer_record,) = (output.peer_record for output in outputs if isinstance(output, PublishPeerRecord))
        assert peer_record.relay is carries
        assert home.machine.handle(RelayAllowed(limits), 51.0) == []


def test_a_person_may_have_it_examined_again() -> None:
    world, _, (home,) = world_of("moved")
    reach, before = home.machine.reach, home.machine.probes.ipv4.concluded_at
    world.tell(home, CheckReachability())
    assert home.machine.probes.ipv4.asking
    world.run(6)
    assert not home.machine.probes.ipv4.asking
    assert home.machine.probes.ipv4.concluded_at > before
    assert home.machine.reach == reach


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
