"""Signed peer records: the addresses, NAT mappings and relays of a peer, kept in the DHT under its own key."""

import ipaddress
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.base.addresses import is_reachable
from core.base.ids import Key, PeerId, hashed_key
from core.base.problems import WireProblem
from core.base.wire import Schema
from core.nat.messages import Address, Mapping, Relay

PEER_RECORD_BYTES_MAX: Final = 512
ADDRESSES_MAX: Final = 6
RELAYS_MAX: Final = 2
PEER_RECORD_LIFETIME_S: Final = 900.0
"""Lifetime of a published peer record, seconds; its owner publishes it again after half of that, and when it
changes."""


class CandidateKind(StrEnum):
    """Kind of an address candidate, from which follows who may call it (compare RFC 8445, ICE)."""

    LAN = "lan"
    IPV6 = "ipv6"
    PUBLIC = "public"
    MAPPED = "mapped"
    """A port that the router forwards because it was asked to (UPnP, NAT-PMP, PCP)."""


class AddressCandidate(msgspec.Struct, frozen=True, array_like=True):
    """An address at which a peer may be reachable, with its kind."""

    kind: CandidateKind
    address: Address


class PeerRecord(msgspec.Struct, frozen=True, array_like=True):
    """A peer's own description of how to reach it.  Ports are the same for TCP and UDP."""

    addresses: Annotated[tuple[AddressCandidate, ...], Meta(max_length=ADDRESSES_MAX)]
    reachable: bool
    """Other peers have connected to it from outside over IPv4."""
    tcp_mapping: Mapping
    udp_mapping: Mapping
    quic: bool
    relays: Annotated[tuple[Relay, ...], Meta(max_length=RELAYS_MAX)]
    """Relays that hold a reservation for this peer."""
    relay: bool
    """Whether this peer relays circuits for others."""
    external: str = ""
    """Public IPv4 address as text; empty: not known.  Two peers with the same one are probably behind the same
    router."""
    reachable_ipv6: bool = False
    """Other peers have connected to it from outside over IPv6."""


NO_PEER_RECORD: Final = PeerRecord(
    (), reachable=False, tcp_mapping="unknown", udp_mapping="unknown", quic=False, relays=(), relay=False
)
"""Stands for a peer that has published no record."""

_UNIQUE_LOCAL: Final = ipaddress.IPv6Network("fd00::/8")
_SCHEMA: Final = Schema(PeerRecord, named="a peer record", bytes_max=PEER_RECORD_BYTES_MAX)


def peer_record_key(peer: PeerId) -> Key:
    """Derive the DHT key of a peer's record; its subkey is the peer id."""
    return hashed_key(b"nat peer record 1", peer)


def encode(peer_record: PeerRecord) -> bytes:
    """Encode a record as a DHT value of at most `PEER_RECORD_BYTES_MAX` bytes, dropping the last addresses to fit."""
    data = _SCHEMA.encode(peer_record)
    while len(data) > PEER_RECORD_BYTES_MAX and peer_record.addresses:
        peer_record = msgspec.structs.replace(peer_record, addresses=peer_record.addresses[:-1])
        data = _SCHEMA.encode(peer_record)
    return data


def decode(value: bytes) -> PeerRecord | None:
    """Decode a DHT value.

    Returns:
        The record without addresses that are implausible or must not be called; None: the value is not a valid record.
    """
    try:
        peer_record = _SCHEMA.decode(value)
    except WireProblem:
        return None
    addresses = tuple(listed for listed in peer_record.addresses if is_plausible(listed))
    relays = tuple(relay for relay in peer_record.relays if is_callable(relay.address.host))
    return msgspec.structs.replace(peer_record, addresses=addresses, relays=relays)


def is_plausible(listed: AddressCandidate) -> bool:
    """Whether the address can be of the kind that it claims."""
    host = listed.address.host
    match listed.kind:
        case CandidateKind.LAN:
            return is_private(host)
        case CandidateKind.IPV6:
            return ":" in host and is_public(host)
        case _:
            return is_callable(host)


def kind_of(host: str) -> CandidateKind | None:
    """Classify an address of one of this computer's interfaces; None: no other computer can call it."""
    if is_public(host):
        return CandidateKind.IPV6 if ":" in host else CandidateKind.PUBLIC
    return CandidateKind.LAN if is_private(host) else None


def is_private(host: str) -> bool:
    """Whether this is an address inside a private network: RFC 1918, for IPv6 unique local (RFC 4193)."""
    ip = _ip(host)
    if isinstance(ip, ipaddress.IPv6Address):
        return ip in _UNIQUE_LOCAL
    odd = ip is None or ip.is_loopback or ip.is_unspecified or ip.is_multicast or ip.is_link_local or ip.is_reserved
    return ip is not None and ip.is_private and not odd


def is_public(host: str) -> bool:
    """Whether this is an address that every host of the Internet can call."""
    ip = _ip(host)
    return ip is not None and is_reachable(ip)


def is_callable(host: str) -> bool:
    """Whether peers may be told to call this host: excludes names, loopback, multicast and broadcast addresses."""
    return is_public(host) or is_private(host)


def prefer_ipv4(known: Address | None, news: Address) -> Address:
    """Choose between two addresses of one peer: the newer one, except that IPv6 never replaces IPv4.

    More peers can call IPv4.

    Args:
        known: The address in use; None: none yet.
        news: The address heard of now.
    """
    return known if known is not None and ":" in news.host and ":" not in known.host else news


def reveals_mapping(host: str, own: Iterable[str]) -> bool:
    """Whether an observed address tells how the router maps ports.

    IPv6 is not translated, so only IPv4 counts where this computer has any.

    Args:
        host: The observed address.
        own: Addresses of this computer's interfaces.
    """
    return _ip(host) is not None and (":" not in host or all(":" in mine for mine in own))


def network_prefix(host: str) -> str:
    """The network of an address, /16 of IPv4 or /32 of IPv6, so that two relays can be chosen from different ones."""
    ip = _ip(host)
    if ip is None:
        return host
    return str(ipaddress.ip_network((ip, 32 if ip.version == 6 else 16), strict=False))


def same_subnet(host: str, hosts: Iterable[str]) -> bool:
    """Whether `host` lies in the same /24 (IPv6: /64) as one of `hosts`.

    Args:
        host: An IP address.
        hosts: IP addresses.
    """
    ip = _ip(host)
    if ip is None:
        return False
    net = ipaddress.ip_network((ip, 64 if ip.version == 6 else 24), strict=False)
    others = (_ip(other) for other in hosts)
    return any(other is not None and other in net for other in others)


def _ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Parse an address; None for names, for scoped addresses, and for IPv4 mapped into IPv6."""
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        return None
    odd = isinstance(ip, ipaddress.IPv6Address) and (ip.scope_id is not None or ip.ipv4_mapped is not None)
    return None if odd else ip
