"""Addresses of this computer's own interfaces."""

import ipaddress
import socket
from typing import Final

from core.nat.peer_record import is_private, is_public

LOOPBACK: Final = "127.0.0.1"
HOSTS_MAX: Final = 5
"""Number of IPv4 addresses at most."""
PUBLIC_IPV6_MAX: Final = 2
SOMEWHERE: Final = "2600::"
"""Any public IPv6 address; nothing is sent to it."""


def is_loopback(bind: str) -> bool:
    """Whether a listener at this address can be reached from this computer only."""
    try:
        return ipaddress.ip_address(bind).is_loopback
    except ValueError:
        return bind == "localhost"


def own_hosts(bind: str) -> list[str]:
    """The addresses at which others may find a listener at `bind`, IPv4 first.

    That one; or all of IPv6 for `::`; or all there are for `0.0.0.0`, of IPv6 a few.
    """
    try:
        here = ipaddress.ip_address(bind)
    except ValueError:
        return []
    if not here.is_unspecified:
        return [] if here.is_link_local and here.version == 6 else [str(here)]
    ipv4 = _usable("AF_INET")[:HOSTS_MAX] if here.version == 4 else []
    return [*ipv4, *_chosen_ipv6(_usable("AF_INET6"), leaving_from())]


def leaving_from() -> str | None:
    """The IPv6 address from which calls to the Internet leave; None: there is no route."""
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
            probe.connect((SOMEWHERE, 9))  # sends nothing
            return str(probe.getsockname()[0])
    except OSError:
        return None


def has_way(host: str) -> bool:
    """Whether the system knows a way to an IP address; for a name, perhaps of the next room, whether a line is up."""
    try:
        there = ipaddress.ip_address(host)
    except ValueError:
        return bool(_usable("AF_INET", up=True) or _usable("AF_INET6", up=True))
    family = socket.AF_INET if there.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((host, 9))  # sends nothing
            return True
    except OSError:
        return False


def _chosen_ipv6(hosts: list[str], leaving: str | None) -> list[str]:
    """Choose the public address in use, another public one (there may be one for each day), and a local one."""
    public = sorted((host for host in hosts if is_public(host)), key=lambda host: host != leaving)
    return [*public[:PUBLIC_IPV6_MAX], *[host for host in hosts if is_private(host)][:1]]


def _usable(family: str, *, up: bool = False) -> list[str]:
    """Addresses that others might call, of one family; `up` leaves out those of interfaces without a line."""
    import psutil  # noqa: PLC0415 - needed only where there is a network

    lines = psutil.net_if_stats() if up else {}
    found = (
        ipaddress.ip_address(address.address.partition("%")[0])
        for name, addresses in psutil.net_if_addrs().items()
        for address in addresses
        if address.family.name == family and (not up or (name in lines and lines[name].isup))
    )
    usable = [host for host in found if not (host.is_loopback or host.is_link_local or host.is_unspecified)]
    return [str(host) for host in dict.fromkeys(usable)]
