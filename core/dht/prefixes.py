"""Network prefixes of peers.  Ids are cheap to make, addresses in many networks are not.

An attacker with one rented network fills a routing table, or the neighbourhood of a key, with as many ids as he likes
unless peers of one network prefix are counted together.
"""

from collections import Counter
from enum import IntEnum
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

IPV6_PREFIX_BITS = 48
FEW_NETWORKS = 4
"""With fewer network prefixes than this, prefixes are not limited: a small collaboration may sit in one building."""
_HOSTS_REMEMBERED = 16_384
_LOOPBACK = tuple(ip_network(text) for text in ("127.0.0.0/8", "::1/128"))
_LOCAL = tuple(
    ip_network(text) for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "fc00::/7")
)
_NOBODY = tuple(ip_network(text) for text in ("0.0.0.0/8", "224.0.0.0/3", "::/128", "fe80::/10", "ff00::/8"))


class AddressScope(IntEnum):
    """Scope from which an address can be reached."""

    NOWHERE = -1
    """Belongs to no single computer: unspecified, multicast, broadcast, and IPv6 link-local."""
    LOOPBACK = 0
    LOCAL = 1
    PUBLIC = 2


@lru_cache(maxsize=_HOSTS_REMEMBERED)
def reach(host: str) -> AddressScope:
    """Scope of an address; anything but an IP address counts as public."""
    address = _address(host)
    if address is None:
        return AddressScope.PUBLIC
    for networks, kind in (
        (_LOOPBACK, AddressScope.LOOPBACK),
        (_LOCAL, AddressScope.LOCAL),
        (_NOBODY, AddressScope.NOWHERE),
    ):
        if any(address in network for network in networks if network.version == address.version):
            return kind
    return AddressScope.PUBLIC


@lru_cache(maxsize=_HOSTS_REMEMBERED)
def prefix(host: str) -> str:
    """The network of `host`: /24 of IPv4, /48 of IPv6; anything but an IP address is a network of its own."""
    address = _address(host)
    if address is None:
        return host
    if isinstance(address, IPv4Address):
        return host.rpartition(".")[0]
    return str(IPv6Network((address, IPV6_PREFIX_BITS), strict=False))


@lru_cache(maxsize=_HOSTS_REMEMBERED)
def counted_prefix(host: str, *, local_is_free: bool) -> str | None:
    """The network that a peer at `host` is counted under; None: it is not counted.

    Args:
        host: An address.
        local_is_free: Whether loopback and private addresses are not counted.
    """
    return None if local_is_free and reach(host) in {AddressScope.LOOPBACK, AddressScope.LOCAL} else prefix(host)


@lru_cache(maxsize=_HOSTS_REMEMBERED)
def may_name(named: str, by: AddressScope) -> bool:
    """Whether a peer in the scope `by` can truthfully know a peer at address `named`.

    A distant peer knows nobody in this network: following such a hint would send packets to computers that a stranger
    chose.

    Args:
        named: An address.
        by: Scope of the peer that names it.
    """
    return reach(named) is not AddressScope.NOWHERE and reach(named) >= by


class PrefixCounts:
    """Number of peers of each network, among peers that are counted together.

    Args:
        local_is_free: Whether loopback and private addresses are not counted.
    """

    def __init__(self, *, local_is_free: bool) -> None:
        self._local_is_free = local_is_free
        self._counts: Counter[str] = Counter()

    @property
    def are_few(self) -> bool:
        """Whether limits are suspended, since few networks are known."""
        return len(self._counts) < FEW_NETWORKS

    def prefix_of(self, host: str) -> str | None:
        """The network that a peer at `host` is counted under; None: it is not counted."""
        return counted_prefix(host, local_is_free=self._local_is_free)

    def count(self, host: str) -> int:
        """Number of peers in the network of `host`; 0 if that is not counted."""
        network = self.prefix_of(host)
        return 0 if network is None else self._counts[network]

    def add(self, host: str) -> None:
        """Count a peer at `host`."""
        network = self.prefix_of(host)
        if network is not None:
            self._counts[network] += 1

    def remove(self, host: str) -> None:
        """Stop counting a peer at `host`."""
        network = self.prefix_of(host)
        if network is not None:
            self._counts[network] -= 1
            if not self._counts[network]:
                del self._counts[network]


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(host)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address
