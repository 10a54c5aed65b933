"""Addresses of this computer, as far as it knows itself."""

import ipaddress
from typing import Final

HOSTS_MAX: Final = 5


def is_loopback(bind: str) -> bool:
    """Whether whoever listens there can be reached from this computer only."""
    try:
        return ipaddress.ip_address(bind).is_loopback
    except ValueError:
        return bind == "localhost"


def own_hosts(bind: str) -> list[str]:
    """The addresses at which others may find somebody who listens at `bind`: that one, or all of its family."""
    import psutil  # noqa: PLC0415 - needed only where there is a network

    try:
        here = ipaddress.ip_address(bind)
    except ValueError:
        return []
    if not here.is_unspecified:
        return [bind]
    family = "AF_INET6" if here.version == 6 else "AF_INET"
    found = (
        ipaddress.ip_address(address.address.partition("%")[0])
        for addresses in psutil.net_if_addrs().values()
        for address in addresses
        if address.family.name == family
    )
    usable = [host for host in found if not (host.is_loopback or host.is_link_local or host.is_unspecified)]
    return [str(host) for host in dict.fromkeys(usable)][:HOSTS_MAX]
