"""Host names among the addresses of peers: looked up beside the loop, never while a datagram is being sent."""

import asyncio
import socket
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any, Final

from core.base.machine import Trace
from core.net.addresses.address_book import Address
from core.net.addresses.hosts import is_literal

LOOKUPS_MAX: Final = 4
"""Number of look-ups in progress at a time."""
NAMES_MAX: Final = 256
"""Number of names remembered; the oldest are looked up again when needed."""
AGAIN_S: Final = 300.0
"""Seconds for which a result holds: names of homes often lead to changing addresses."""


class NameResolver:
    """Finds the IP addresses of names.

    Args:
        spawn: Runs a coroutine in the owner's task group.
        trace: Counts names without an address.
    """

    def __init__(self, spawn: Callable[[Coroutine[Any, Any, None]], Any], trace: Trace) -> None:
        self._spawn = spawn
        self._trace = trace
        self._known: OrderedDict[str, tuple[str | None, float]] = OrderedDict()
        """The address (None while it is looked up) and the time of the look-up, by name."""
        self._looking = 0

    def find(self, address: Address, found: Callable[[Address], object]) -> None:
        """Call `found` with the address once the name is resolved, perhaps at once; never, if it has no address.

        Args:
            address: A host name and a port.
            found: Takes the IP address and the port.
        """
        host, port = address
        now = asyncio.get_running_loop().time()
        literal, at = self._known.get(host, (None, float("-inf")))
        if literal is not None:
            found((literal, port))
        if now < at + AGAIN_S:
            return
        if self._looking >= LOOKUPS_MAX:
            self._trace.mark("net.drop.name")
        else:
            self._looking += 1
            self._known[host] = literal, now
            if len(self._known) > NAMES_MAX:
                self._known.popitem(last=False)
            self._spawn(self._look_up(host, port, found))

    async def _look_up(self, host: str, port: int, found: Callable[[Address], object]) -> None:
        loop = asyncio.get_running_loop()
        try:
            answers = await loop.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
        except (OSError, ValueError):
            answers = []
        finally:
            self._looking -= 1
        literals = [literal for answer in answers if is_literal(literal := str(answer[4][0]))]
        if not literals:
            self._trace.mark("net.name.unknown")
            self._known.pop(host, None)
            return
        literal = min(literals, key=lambda found: ":" in found)  # more can call IPv4
        self._known[host] = literal, loop.time()
        found((literal, port))
