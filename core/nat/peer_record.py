"""A peer's card: what it says of where it is.  It stands in the DHT as a record signed by its owner."""

import ipaddress
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.base.ids import Key, PeerId, hashed_key
from core.nat.messages import Address, Mapping, Relay

PEER_RECORD_BYTES_MAX: Final = 512
ADDRESSES_MAX: Final = 6
RELAYS_MAX: Final = 2
PEER_RECORD_LIFETIME_S: Final = 900.0
"""How long a published card holds; publish it again at half of that, and when it changes."""


class CandidateKind(StrEnum):
    """Where an address leads."""

    LAN = "lan"
    IPV6 = "ipv6"
    PUBLIC = "public"
    MAPPED = "mapped"
    """A port that the router forwards because it was asked to (UPnP, NAT-PMP, PCP)."""


class AddressCandidate(msgspec.Struct, frozen=True, array_like=True):
    """An address with its kind."""

    kind: CandidateKind
    address: Address


class PeerRecord(msgspec.Struct, frozen=True, array_like=True):
    """See the module's docstring.  The ports are those of TCP and of UDP alike."""

    addresses: Annotated[tuple[AddressCandidate, ...], Meta(max_length=ADDRESSES_MAX)]
    reachable: bool
    """Strangers have called it and got through."""
    tcp_mapping: Mapping
    udp_mapping: Mapping
    quic: bool
    relays: Annotated[tuple[Relay, ...], Meta(max_length=RELAYS_MAX)]
    """Where it holds reservations."""
    relay: bool
    """It is willing to be one."""
    external: str = ""
    """Its public IP address, empty: not known.  Two peers with the same one are probably in the same house."""
    reachable_ipv6: bool = False
    """Strangers have called it over IPv6 and got through."""


NO_PEER_RECORD: Final = PeerRecord(
    (), reachable=False, tcp_mapping="unknown", udp_mapping="unknown", quic=False, relays=(), relay=False
)
"""The card of a peer that has published none."""

_UNIQUE_LOCAL: Final = ipaddress.IPv6Network("fd00::/8")
_decoder: Final = msgspec.msgpack.Decoder(PeerRecord)
_encoder: Final = msgspec.msgpack.Encoder()


def peer_record_key(peer: PeerId) -> Key:
    """Under which key a peer's card stands; the subkey is the peer itself."""
    return hashed_key(b"nat peer record 1", peer)


def encode(peer_record: PeerRecord) -> bytes:
    """The card as a record's value; the least useful addresses are left out if there is no room for all."""
    data = _encoder.encode(peer_record)
    while len(data) > PEER_RECORD_BYTES_MAX and peer_record.addresses:
        peer_record = msgspec.structs.replace(peer_record, addresses=peer_record.addresses[:-1])
        data = _encoder.encode(peer_record)
    return data


def decode(value: bytes) -> PeerRecord | None:
    """The card in a record's value, without addresses that nobody should call; None: no card."""
    if len(value) > PEER_RECORD_BYTES_MAX:
        return None
    try:
        peer_record = _decoder.decode(value)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    addresses = tuple(listed for listed in peer_record.addresses if is_plausible(listed))
    relays = tuple(relay for relay in peer_record.relays if is_callable(relay.address.host))
    return msgspec.structs.replace(peer_record, addresses=addresses, relays=relays)


def is_plausible(listed: AddressCandidate) -> bool:
    """Whether the address is of its kind."""
    host = listed.address.host
    match listed.kind:
        case CandidateKind.LAN:
            return is_private(host)
        case CandidateKind.IPV6:
            return ":" in host and is_public(host)
        case _:
            return is_callable(host)


def kind_of(host: str) -> CandidateKind | None:
    """What an address of one of our interfaces is to others; None: nobody else can call it."""
    if is_public(host):
        return CandidateKind.IPV6 if ":" in host else CandidateKind.PUBLIC
    return CandidateKind.LAN if is_private(host) else None


def is_private(host: str) -> bool:
    """Whether this is an address inside somebody's network; of IPv6 the unique local ones (RFC 4193)."""
    ip = _ip(host)
    if isinstance(ip, ipaddress.IPv6Address):
        return ip in _UNIQUE_LOCAL
    odd = ip is None or ip.is_loopback or ip.is_unspecified or ip.is_multicast or ip.is_link_local or ip.is_reserved
    return ip is not None and ip.is_private and not odd


def is_public(host: str) -> bool:
    """Whether this is an address that the whole Internet can call."""
    ip = _ip(host)
    return ip is not None and ip.is_global and not ip.is_multicast


def is_callable(host: str) -> bool:
    """Whether anybody may be told to call this: no loopback, multicast or broadcast address, no name."""
    return is_public(host) or is_private(host)


def prefer_ipv4(known: Address | None, news: Address) -> Address:
    """The one of two addresses of a peer that more can call: the newer one, but no IPv6 instead of IPv4."""
    return known if known is not None and ":" in news.host and ":" not in known.host else news


def reveals_mapping(host: str, own: Iterable[str]) -> bool:
    """Whether an observation of this address says something about our router: IPv6 has none, so IPv4 if we have it."""
    return _ip(host) is not None and (":" not in host or all(":" in mine for mine in own))


def network_prefix(host: str) -> str:
    """The network in which an address lies, so that two relays can be taken from different ones: /16, IPv6 /32."""
    ip = _ip(host)
    if ip is None:
        return host
    return str(ipaddress.ip_network((ip, 32 if ip.version == 6 else 16), strict=False))


def same_subnet(host: str, hosts: Iterable[str]) -> bool:
    """Whether `host` lies in the same /24 (IPv6: /64) as one of `hosts`."""
    ip = _ip(host)
    if ip is None:
        return False
    net = ipaddress.ip_network((ip, 64 if ip.version == 6 else 24), strict=False)
    others = (_ip(other) for other in hosts)
    return any(other is not None and other in net for other in others)


def _ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """None also for what means something on one link only (a scope), and for IPv4 in the clothes of IPv6."""
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        return None
    odd = isinstance(ip, ipaddress.IPv6Address) and (ip.scope_id is not None or ip.ipv4_mapped is not None)
    return None if odd else ip
