"""The UDP sockets of one port number: one for each family, and each datagram takes that of its address."""

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import Iterator
from typing import Any, Final

from core.net.address_book import Address

BUFFER_BYTES: Final = 2 * 1024 * 1024
"""Of the system, for what arrives while we are busy; it grants as much of it as it likes."""
DRAIN_MAX: Final = 64
"""Datagrams taken at a time: asyncio takes one in each turn of its loop, which costs more than the datagram."""
DATAGRAM_BYTES_MAX: Final = 65_535


class UdpSockets:
    """What goes to an address of a family for which there is no socket is not sent."""

    def __init__(self) -> None:
        self._transports: dict[bool, asyncio.DatagramTransport] = {}
        """By whether it is IPv6."""
        self._more: dict[bool, socket.socket] = {}
        """The same sockets once more, to read from beside asyncio."""

    def made(self, transport: Any) -> None:
        """A socket is there."""
        six = ":" in transport.get_extra_info("sockname")[0]
        self._transports[six] = transport
        own = transport.get_extra_info("socket")
        if own is None:
            return
        with contextlib.suppress(OSError):
            own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
            own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
        if sys.platform != "win32":  # there asyncio has a read under way all the time
            self._more[six] = socket.socket(fileno=os.dup(own.fileno()))

    def lost(self) -> None:
        """Some socket is gone."""
        for six in [six for six, each in self._transports.items() if each.is_closing()]:
            del self._transports[six]
            if six in self._more:
                self._more.pop(six).close()

    def waiting(self, name: tuple[Any, ...]) -> Iterator[tuple[bytes, tuple[Any, ...]]]:
        """Datagrams that wait behind one that came from there, with their sources; `DRAIN_MAX` at most."""
        six = ":" in str(name[0])
        for _ in range(DRAIN_MAX):
            more = self._more.get(six)
            if more is None:
                return
            try:
                yield more.recvfrom(DATAGRAM_BYTES_MAX)
            except OSError:  # nothing waits; asyncio hears of anything else
                return

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
