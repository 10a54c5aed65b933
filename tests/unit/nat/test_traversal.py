"""The whole machine among routers of every kind, in the simulated Internet of `tests.sim.nat.world`."""

from typing import Any

import pytest

from core.base.machine import Lost, Tick
from core.nat.events import (
    AddressesChanged,
    CheckReachability,
    PublicPeerFound,
    PublishPeerRecord,
    ReachChanged,
    RelayAllowed,
    Way,
)
from core.nat.messages import (
    Address,
)
from core.nat.peer_record import AddressCandidate, CandidateKind
from core.nat.reachability import Reachability
from core.nat.relay import RelaySettings
from tests.sim.nat.boxes import Nature
from tests.sim.nat.homes import SimulatedHome
from tests.sim.nat.world import NatWorld
from tests.unit.nat.worlds import world_of

NATURES: tuple[Nature, ...] = ("public", "kept", "moved", "symmetric")


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
    assert str(reach.sentence).endswith(".")
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
    assert str(reach.sentence).endswith(" Volunteers with IPv6 reach it directly.") == (guard == "public")
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
