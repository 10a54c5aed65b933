"""Notices what becomes of this computer's addresses, and that it slept.

The interfaces and the kernel's choice of a way out are looked at every few seconds, which costs less than a millisecond
and is the same on all systems.
"""

import ipaddress
import socket
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import psutil

LOOK_S: Final = 5.0
SLEPT_S: Final = 60.0
"""Looks this far apart mean that the computer slept: routers have forgotten its mappings."""
_FAR: Final = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
"""Addresses that nobody has (RFC 5737, RFC 3849): the way to them is the default route's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """The network as this computer sees it.

    Attributes:
        addresses: Addresses of this computer, without those that only it itself can see.
        outward4: The one from which the default route for IPv4 leaves; None: there is no such route.
        outward6: The same for IPv6.
    """

    addresses: frozenset[str]
    outward4: str | None = None
    outward6: str | None = None


class Change(StrEnum):
    """Kind of change between two looks at the network."""

    NONE = "none"
    ADDRESSES = "addresses"
    """Addresses beside have come or gone (a VPN for some destinations, a bridge, IPv6's temporary ones): what is known
    of the router still holds."""
    MOVED = "moved"
    """The way out is another one, or routers have had time to forget mappings: no earlier finding holds."""


class Changes:
    """Compares what it is shown with what it was shown before."""

    def __init__(self) -> None:
        self._seen: Sight | None = None
        self._looked = 0.0

    def look(self, seen: Sight, now: float) -> Change:
        """Compare with the last look; the first look sees nothing new.

        Args:
            seen: The present sight.
            now: Seconds.
        """
        before, slept = self._seen, now - self._looked > SLEPT_S
        self._seen, self._looked = seen, now
        if before is None:
            return Change.NONE
        if slept or _moved(before, seen):
            return Change.MOVED
        return Change.NONE if seen == before else Change.ADDRESSES


def _moved(before: Sight, seen: Sight) -> bool:
    if before.outward4 is None and before.outward6 is None:
        # There was no way out: a first one is another network, and without one an address that goes is all we can see.
        return bool(seen.outward4 or seen.outward6 or before.addresses - seen.addresses)
    left4 = before.outward4 is not None and before.outward4 != seen.outward4
    return left4 or (before.outward6 is not None and not _same_network(before.outward6, seen.outward6))


def _same_network(host: str, other: str | None) -> bool:
    """IPv6 takes new addresses in the same /64 day by day, on purpose (RFC 8981)."""
    if host == other:
        return True
    return other is not None and ipaddress.ip_address(other) in ipaddress.ip_network((host, 64), strict=False)


def sight() -> Sight:
    """Look at the network of this computer; never fails."""
    outward4, outward6 = (_outward(family, far) for family, far in _FAR)
    return Sight(addresses=addresses(), outward4=outward4, outward6=outward6)


def addresses() -> frozenset[str]:
    """This computer's addresses, without those that only it itself can see."""
    families = {socket.AF_INET, socket.AF_INET6}
    found = (
        address.address
        for interface in psutil.net_if_addrs().values()
        for address in interface
        if address.family in families
    )
    return frozenset(host for host in found if host != "::1" and not host.startswith(("127.", "fe80:")))


def _outward(family: socket.AddressFamily, far: str) -> str | None:
    """From which address the kernel would send there; nothing is sent."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((far, 9))
            return str(probe.getsockname()[0])
    except OSError:
        return None
