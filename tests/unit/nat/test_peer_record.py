"""Cards."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.ids import PeerId
from core.nat.messages import Address, Relay
from core.nat.peer_record import (
    NO_PEER_RECORD,
    PEER_RECORD_BYTES_MAX,
    AddressCandidate,
    CandidateKind,
    PeerRecord,
    decode,
    encode,
    is_callable,
    kind_of,
    network_prefix,
    peer_record_key,
    prefer_ipv4,
    reveals_mapping,
    same_subnet,
)


def full(*, host: str = "2a00:1234:5678:9abc:def0:1234:5678:9abc") -> PeerRecord:
    listed = tuple(AddressCandidate(CandidateKind.IPV6, Address(host, 60000 + number)) for number in range(6))
    relays = tuple(Relay(bytes([n]) * 32, Address("20.0.0.1", 31337)) for n in range(2))
    return PeerRecord(
        listed, reachable=True, tcp_mapping="symmetric", udp_mapping="symmetric", quic=True, relays=relays, relay=True,
        external=host, reachable_ipv6=True,
    )  # fmt: skip


def test_the_largest_card_fits_a_record() -> None:
    data = encode(full())
    assert len(data) <= PEER_RECORD_BYTES_MAX
    peer_record = decode(data)
    assert peer_record is not None
    assert peer_record.relays == full().relays
    assert len(peer_record.addresses) >= 4


def test_there_and_back() -> None:
    assert decode(encode(NO_PEER_RECORD)) == NO_PEER_RECORD


def test_addresses_that_nobody_should_call_are_left_out() -> None:
    bad = [
        AddressCandidate(CandidateKind.LAN, Address("8.8.8.8", 53)),
        AddressCandidate(CandidateKind.LAN, Address("127.0.0.1", 22)),
        AddressCandidate(CandidateKind.PUBLIC, Address("224.0.0.1", 22)),
        AddressCandidate(CandidateKind.PUBLIC, Address("example.org", 80)),
        AddressCandidate(CandidateKind.IPV6, Address("1.2.3.4", 80)),
        AddressCandidate(CandidateKind.PUBLIC, Address("0.0.0.0", 80)),
    ]
    peer_record = PeerRecord(
        tuple(bad), reachable=True, tcp_mapping="none", udp_mapping="none", quic=True, relays=(), relay=False
    )
    decoded = decode(encode(peer_record))
    assert decoded is not None
    assert decoded.addresses == ()


@given(st.binary(max_size=600))
def test_garbage_is_no_card(data: bytes) -> None:
    decode(data)


def test_kind_of_each_interface_address_is_known() -> None:
    kinds = {
        "10.0.0.7": CandidateKind.LAN, "20.0.0.7": CandidateKind.PUBLIC, "2a00::1": CandidateKind.IPV6,
        "fd00::1": CandidateKind.LAN, "fc00::1": None,
        "fe80::1": None, "fe80::1%eth0": None, "2a00::1%eth0": None, "::1": None, "::": None, "ff02::1": None,
        "2001:db8::1": None, "::ffff:20.0.0.7": None, "127.0.0.1": None, "169.254.1.1": None,
    }  # fmt: skip
    assert {host: kind_of(host) for host in kinds} == kinds


def test_ipv6_addresses_are_dropped_under_a_wrong_kind() -> None:
    listed = [
        AddressCandidate(CandidateKind.IPV6, Address("fd00::1", 80)),
        AddressCandidate(CandidateKind.IPV6, Address("::ffff:192.168.1.1", 80)),
        AddressCandidate(CandidateKind.PUBLIC, Address("::ffff:127.0.0.1", 80)),
        AddressCandidate(CandidateKind.LAN, Address("2a00::1", 80)),
        AddressCandidate(CandidateKind.LAN, Address("fe80::1%eth0", 80)),
        AddressCandidate(CandidateKind.LAN, Address("fd00::1", 80)),
    ]
    peer_record = decode(encode(msgspec.structs.replace(full(), addresses=tuple(listed))))
    assert peer_record is not None
    assert peer_record.addresses == (listed[-1],)


def test_ipv4_is_preferred_to_a_newer_ipv6_address() -> None:
    four, newer, six = Address("20.0.0.1", 1), Address("20.0.0.2", 1), Address("2a00::1", 1)
    assert prefer_ipv4(None, six) == prefer_ipv4(six, six) == six
    assert prefer_ipv4(four, six) == four
    assert prefer_ipv4(six, four) == prefer_ipv4(newer, four) == four


def test_keys_differ() -> None:
    assert peer_record_key(PeerId(bytes(32))) != peer_record_key(PeerId(bytes([1]) * 32))


def test_houses_and_networks() -> None:
    assert same_subnet("192.168.1.9", ["192.168.1.200"])
    assert not same_subnet("192.168.2.9", ["192.168.1.200", "2a00::1"])
    assert network_prefix("30.1.2.3") == network_prefix("30.1.9.9") != network_prefix("30.2.2.3")
    assert network_prefix("2a00:1::1") != network_prefix("2a00:2::1")


@pytest.mark.parametrize("host", ["8.8.8.8%..a", "8.8.8.8%\0", "2606:4700::1%..a", "192.168.1.4%x", "8.8.8.8 ", ""])
def test_malformed_addresses_are_not_callable(host: str) -> None:
    assert not is_callable(host)
    assert not reveals_mapping(host, ())
    assert not same_subnet(host, ["8.8.8.8", "192.168.1.4"])
