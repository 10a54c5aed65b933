"""The decision, over the whole matrix."""

from random import Random

import pytest
from msgspec.structs import replace

from core.nat.events import Way
from core.nat.messages import Address, Mapping, PunchOffer
from core.nat.peer_record import AddressCandidate, CandidateKind, PeerRecord
from core.nat.ways import BIRTHDAY_PORTS, BIRTHDAY_TRIES, FALLBACK_S, plan_dials, punch_plan, relay_after_s

MINE, THEIRS = Address("20.0.0.1", 1), Address("20.0.0.2", 2)


def offer(mapping: Mapping, address: Address, *, quic: bool = True, lan: str = "") -> PunchOffer:
    inside = (Address(lan, 9),) if lan else ()
    return PunchOffer(
        bytes(16), (address, *inside), (address, *inside), mapping, mapping, quic=quic, one_way_ms=0, relays=()
    )


@pytest.mark.parametrize("theirs", ["kept", "moved", "symmetric", "unknown", "none"])
@pytest.mark.parametrize("mine", ["kept", "moved", "symmetric", "unknown", "none"])
def test_every_pair_is_punched_but_two_symmetric_ones(mine: Mapping, theirs: Mapping) -> None:
    plan = punch_plan(offer(mine, MINE), offer(theirs, THEIRS), random=Random(1))
    pair = {mine, theirs}
    birthday = "symmetric" in pair and pair & {"kept", "moved"}
    assert (plan.birthday is not None) == bool(birthday)
    hopeless = pair in ({"symmetric"}, {"symmetric", "unknown"})
    assert plan.hopeless == hopeless


def test_the_birthdays_two_sides_fit() -> None:
    near = punch_plan(offer("symmetric", MINE), offer("kept", THEIRS), random=Random(1))
    far = punch_plan(offer("kept", THEIRS), offer("symmetric", MINE), random=Random(2))
    assert near.birthday is not None
    assert far.birthday is not None
    assert near.birthday.local_ports == BIRTHDAY_PORTS
    assert near.udp == (THEIRS,)
    assert len(set(far.birthday.remote_ports)) == BIRTHDAY_TRIES
    assert all(1024 <= port < 65536 for port in far.birthday.remote_ports)


def test_without_quic_only_tcp_is_punched() -> None:
    plan = punch_plan(offer("kept", MINE, quic=False), offer("kept", THEIRS), random=Random(1))
    assert plan.tcp
    assert not plan.udp


def test_two_symmetric_ones_in_one_house_use_the_lan() -> None:
    mine = offer("symmetric", MINE, lan="192.168.1.2")
    theirs = offer("symmetric", Address(MINE.host, 7), lan="192.168.1.3")
    plan = punch_plan(mine, theirs, random=Random(1))
    assert plan.tcp == plan.udp == (Address("192.168.1.3", 9),)


@pytest.mark.parametrize("kind", [CandidateKind.MAPPED, CandidateKind.PUBLIC])
def test_a_stranger_cannot_have_our_own_network_called(kind: CandidateKind) -> None:
    theirs = peer_record(AddressCandidate(kind, Address("192.168.7.1", 80)), reachable=True)
    assert not plan_dials(peer_record(external="20.0.0.1"), theirs)
    assert plan_dials(peer_record(external=""), theirs)
    assert plan_dials(
        peer_record(AddressCandidate(CandidateKind.LAN, Address("192.168.7.2", 9)), external="20.0.0.1"), theirs
    )


def peer_record(
    *addresses: AddressCandidate, reachable: bool = False, external: str = "", ipv6: bool = False
) -> PeerRecord:
    return PeerRecord(
        addresses, reachable=reachable, tcp_mapping="kept", udp_mapping="kept", quic=True, relays=(), relay=False,
        external=external, reachable_ipv6=ipv6,
    )  # fmt: skip


LAN = AddressCandidate(CandidateKind.LAN, Address("192.168.1.3", 9))
V6 = AddressCandidate(CandidateKind.IPV6, Address("2a00::1", 9))
PUBLIC = AddressCandidate(CandidateKind.PUBLIC, Address("20.0.0.2", 9))
MAPPED = AddressCandidate(CandidateKind.MAPPED, Address("20.0.0.2", 10))


def test_order_and_stagger() -> None:
    mine = peer_record(AddressCandidate(CandidateKind.IPV6, Address("2b00::1", 1)), external="20.0.0.2")
    found = plan_dials(mine, peer_record(MAPPED, PUBLIC, V6, LAN, reachable=True, external="20.0.0.2"))
    assert [one.way for one in found] == [Way.LAN, Way.IPV6, Way.PUBLIC, Way.MAPPED]
    assert [one.after_s for one in found] == pytest.approx([0, 0.15, 0.3, 0.45])


def test_a_strangers_inside_address_is_not_called() -> None:
    assert plan_dials(peer_record(external="20.0.0.1"), peer_record(LAN, external="20.0.0.2")) == []
    assert plan_dials(peer_record(), peer_record(V6)) == []


def test_relay_begins_at_once_unless_something_is_likely_to_answer() -> None:
    assert relay_after_s(peer_record(), peer_record()) == 0
    assert relay_after_s(peer_record(), peer_record(PUBLIC, reachable=True)) == FALLBACK_S


def test_open_port_of_one_family_promises_nothing_of_the_other() -> None:
    mine = peer_record(AddressCandidate(CandidateKind.IPV6, Address("2b00::1", 1)))
    assert relay_after_s(mine, peer_record(V6, reachable=True)) == 0
    assert relay_after_s(mine, peer_record(V6, ipv6=True)) == FALLBACK_S
    assert relay_after_s(peer_record(), peer_record(V6, ipv6=True)) == 0
    assert relay_after_s(mine, peer_record(PUBLIC, V6, ipv6=True)) == FALLBACK_S


def test_private_addresses_are_dialled_from_their_own_subnet_only() -> None:
    mine, theirs = (
        AddressCandidate(CandidateKind.LAN, Address("fd00:1::1", 1)),
        AddressCandidate(CandidateKind.LAN, Address("fd00:1::2", 2)),
    )
    assert [one.way for one in plan_dials(peer_record(mine), peer_record(theirs))] == [Way.LAN]
    assert (
        plan_dials(peer_record(mine), peer_record(AddressCandidate(CandidateKind.LAN, Address("fd00:2::2", 2)))) == []
    )
    assert plan_dials(peer_record(mine, external="20.0.0.1"), peer_record(theirs, external="20.0.0.2")) == []


SIX, SIX_THEIRS = Address("2a00::1", 1), Address("2b00::1", 2)


@pytest.mark.parametrize("theirs", ["kept", "symmetric"])
@pytest.mark.parametrize("mine", ["kept", "symmetric"])
def test_ipv6_is_punched_whatever_the_routers_do_to_ipv4(mine: Mapping, theirs: Mapping) -> None:
    ours = replace(offer(mine, MINE), ipv6=(SIX,))
    plan = punch_plan(ours, replace(offer(theirs, THEIRS), ipv6=(SIX_THEIRS,)), random=Random(1))
    assert plan.tcp[0] == SIX_THEIRS
    if plan.birthday is None:
        assert plan.udp[0] == SIX_THEIRS
    else:
        assert plan.udp == (THEIRS,)


def test_ipv6_is_not_punched_where_one_side_lacks_it() -> None:
    six = replace(offer("symmetric", MINE), ipv6=(SIX,))
    assert punch_plan(six, offer("symmetric", THEIRS), random=Random(1)).hopeless
    assert punch_plan(offer("symmetric", MINE), replace(six, ipv6=(SIX_THEIRS,)), random=Random(1)).hopeless
    bad = tuple(Address(host, 80) for host in ("fd00::1", "20.0.0.9", "::1", "fe80::1", "::ffff:20.0.0.1", "ff02::1"))
    assert punch_plan(six, replace(offer("symmetric", THEIRS), ipv6=bad), random=Random(1)).hopeless


def test_without_quic_ipv6_is_punched_by_tcp_only() -> None:
    mine = replace(offer("symmetric", MINE, quic=False), ipv6=(SIX,))
    plan = punch_plan(mine, replace(offer("symmetric", THEIRS), ipv6=(SIX_THEIRS,)), random=Random(1))
    assert (plan.tcp, plan.udp) == ((SIX_THEIRS,), ())


def test_offer_cannot_name_our_computer_or_our_neighbours() -> None:
    mine = offer("kept", MINE, lan="192.168.1.2")
    bad = ["127.0.0.1", "224.0.0.1", "255.255.255.255", "0.0.0.0", "example.org", "169.254.1.1", "192.168.1.1"]
    addresses = tuple(Address(host, 80) for host in bad[:4])
    for some in (addresses, tuple(Address(host, 80) for host in bad[3:])):
        theirs = PunchOffer(bytes(16), (*some, THEIRS), some, "kept", "kept", quic=True, one_way_ms=0, relays=())
        plan = punch_plan(mine, theirs, random=Random(1))
        assert plan.tcp == (THEIRS,)
        assert plan.udp == ()


def test_the_same_inside_address_in_another_house_is_not_called() -> None:
    assert plan_dials(peer_record(LAN, external="20.0.0.1"), peer_record(LAN, external="20.0.0.2")) == []
