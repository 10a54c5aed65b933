"""Which IP addresses the whole internet can reach, and which belong to a person's own network.

By IANA's registries of special-purpose addresses (RFC 6890, RFC 8190), as of October 2025, and of IPv6's address space,
of which 2000::/3 alone is given out.  Python's `is_global` knows them as of the release that runs, and takes for global
what is not given out.
"""

import ipaddress
from collections.abc import Sequence
from typing import Final, TypeAlias

Ip: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address


def _networks(*written: str) -> Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    return [ipaddress.ip_network(each) for each in written]


_UNREACHABLE: Final = _networks(
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"),
    *("192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
    *("224.0.0.0/4", "240.0.0.0/4"),  # multicast has a registry of its own
    *("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
)
"""Blocks that are not globally reachable, nor known to be, as the tunnels 6to4 and Teredo; of IPv6, within 2000::/3."""
_REACHABLE: Final = _networks(
    *("192.0.0.9/32", "192.0.0.10/32", "2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:3::/32"),
    *("2001:4:112::/48", "2001:20::/28", "2001:30::/28"),
)
"""Exceptions within those blocks."""
_UNICAST: Final = ipaddress.IPv6Network("2000::/3")
_OWN: Final = _networks(
    *("10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7")
)
_TRANSLATED: Final = ipaddress.IPv6Network("64:ff9b::/96")
"""IPv4 as a network of IPv6 alone reaches it (RFC 6052)."""


def is_reachable(ip: Ip) -> bool:
    """Whether the whole internet can reach an address."""
    if isinstance(ip, ipaddress.IPv6Address) and ip not in _UNICAST:
        return False
    return not any(ip in each for each in _UNREACHABLE) or any(ip in each for each in _REACHABLE)


def is_own(ip: Ip) -> bool:
    """Whether an address lies in a private network (RFC 1918, 4193, 6598) or in this computer."""
    return any(ip in each for each in _OWN)


def ipv4_inside(ip: Ip) -> Ip:
    """The IPv4 address that is asked at an IPv6 address which is mapped (RFC 4291) or translated; else itself."""
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            return ip.ipv4_mapped
        if ip in _TRANSLATED:
            return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip
