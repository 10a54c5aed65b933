"""The UDP sockets of one port number: one for each family, and each datagram takes that of its address."""

import asyncio
from typing import Any

from core.net.book import Address


class UdpSockets:
    """What goes to an address of a family for which there is no socket is not sent."""

    def __init__(self) -> None:
        self._transports: dict[bool, asyncio.DatagramTransport] = {}
        """By whether it is IPv6."""

    def made(self, transport: Any) -> None:
        """A socket is there."""
        self._transports[":" in transport.get_extra_info("sockname")[0]] = transport

    def lost(self) -> None:
        """Some socket is gone."""
        self._transports = {six: each for six, each in self._transports.items() if not each.is_closing()}

    def put(self, datagram: bytes, address: Address) -> bool:
        """Send bytes as they are; False if there is no socket for them."""
        six = ":" in address[0]
        transport = self._transports.get(six)
        if transport is None or transport.is_closing():
            return False
        transport.sendto(datagram, (*address, 0, 0) if six else address)  # Windows wants all four
        return True

    def close(self) -> None:
        """Give them back."""
        for transport in self._transports.values():
            transport.close()


def source_of(name: tuple[Any, ...]) -> Address | None:
    """Where a datagram or a connection came from; None if it means nothing outside one link (a scope)."""
    host = str(name[0])
    scoped = "%" in host or (len(name) > 3 and bool(name[3]))
    return None if scoped else (host, int(name[1]))
