"""Notices that the network is another one: addresses came or went, or the computer slept.

The interfaces are looked at every few seconds, which costs less than a millisecond and is the same on all systems.
"""

import socket
from typing import Final

import psutil

LOOK_S: Final = 5.0
SLEPT_S: Final = 60.0
"""Looks this far apart mean that the computer slept: routers have forgotten us."""


class Changes:
    """Compares what it is shown with what it was shown before."""

    def __init__(self) -> None:
        self._addresses: frozenset[str] | None = None
        self._looked = 0.0

    def look(self, addresses: frozenset[str], now: float) -> bool:
        """Whether the network is another one since the last look; the first look sees nothing new.

        Args:
            addresses: Those of this computer.
            now: Seconds.
        """
        first = self._addresses is None
        changed = addresses != self._addresses or now - self._looked > SLEPT_S
        self._addresses, self._looked = addresses, now
        return changed and not first


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
