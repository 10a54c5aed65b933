"""UDP sockets of one port number: one for each family, chosen by the address of each datagram."""

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import Iterator
from typing import Any, Final

from core.base.machine import Trace
from core.net.addresses.address_book import Address

BUFFER_BYTES: Final = 2 * 1024 * 1024
"""Wanted buffer of the system for packets that arrive while the loop is busy; it may grant less."""
DRAIN_MAX: Final = 64
"""Number of datagrams read at a time: asyncio reads one in each turn of its loop, which costs more than the
datagram."""
DATAGRAM_BYTES_MAX: Final = 65_535


class UdpSockets:
    """Sockets of both families; a packet to a family without a socket is not sent."""

    def __init__(self) -> None:
        self._transports: dict[bool, asyncio.DatagramTransport] = {}
        """Transports by family; True: IPv6."""
        self._more: dict[bool, socket.socket] = {}
        """Duplicates of the same sockets, to read from beside asyncio."""

    def made(self, transport: Any) -> None:
        """Adopt a socket that asyncio has opened."""
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
        """Forget the sockets that are closing."""
        for six in [six for six, each in self._transports.items() if each.is_closing()]:
            del self._transports[six]
            if six in self._more:
                self._more.pop(six).close()

    def waiting(self, name: tuple[Any, ...]) -> Iterator[tuple[bytes, tuple[Any, ...]]]:
        """Datagrams that wait behind one from this address, with their sources; at most `DRAIN_MAX`."""
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
        """Send a packet as it is.

        Args:
            datagram: The packet.
            address: Where to.

        Returns:
            Whether there is a socket for it.
        """
        six = ":" in address[0]
        transport = self._transports.get(six)
        if transport is None or transport.is_closing():
            return False
        transport.sendto(datagram, (*address, 0, 0) if six else address)  # Windows wants all four
        return True

    def close(self) -> None:
        """Close the sockets of both families."""
        for transport in self._transports.values():
            transport.close()


class UdpPort(asyncio.DatagramProtocol):
    """A port of this computer, of both families, as asyncio's protocol.

    Args:
        trace: Counts what the system could not deliver.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._sockets = UdpSockets()

    def close(self) -> None:
        """Close the sockets of both families."""
        self._sockets.close()

    def connection_made(self, transport: Any) -> None:
        """Adopt a socket that asyncio has opened."""
        self._sockets.made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a socket that asyncio has closed."""
        del exc
        self._sockets.lost()

    def error_received(self, exc: Exception) -> None:
        """Count a datagram that the system could not deliver; UDP promises nothing."""
        del exc
        self._trace.mark("net.datagram.undelivered")


def source_of(name: tuple[Any, ...]) -> Address | None:
    """Address from which a datagram or a connection came; None if it is scoped to one link."""
    host = str(name[0])
    scoped = "%" in host or (len(name) > 3 and bool(name[3]))
    return None if scoped else (host, int(name[1]))
