"""Listening sockets: TCP and UDP on one port number, at one address or at all of IPv4 and of IPv6.

Each family has sockets of its own, so that addresses stay in their own form; where there is no IPv6 there are none for
it.
"""

import asyncio
import errno
import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from core.base.problems import BadInput, Busy, Problem
from core.net.addresses.address_book import Address
from core.net.addresses.hosts import is_literal
from core.net.addresses.ports import REUSE

ANY: Final = "0.0.0.0"  # noqa: S104 - a peer is there to be reached
"""All addresses of this computer, of both families."""
ANY6: Final = "::"
"""All IPv6 addresses of this computer."""
PORT_ATTEMPTS: Final = 20
BACKLOG: Final = 128
TAKEN: Final = frozenset({errno.EADDRINUSE, errno.EACCES})
_BOTH: Final = (socket.SOCK_STREAM, socket.SOCK_DGRAM)
_PROTOCOLS: Final = MappingProxyType({socket.SOCK_STREAM: socket.IPPROTO_TCP, socket.SOCK_DGRAM: socket.IPPROTO_UDP})
"""Explicit, since asyncio sends small messages at once (TCP_NODELAY) only on sockets that name their protocol as
TCP."""


@dataclass(frozen=True, slots=True)
class BindAddress:
    """An address of this computer to bind sockets to, without a port."""

    family: int
    name: tuple[Any, ...]
    """Address in the system's form; the port is left open."""
    needed: bool
    """False: this computer may lack the family."""


@dataclass(frozen=True, slots=True)
class Listening:
    """The open sockets and their addresses."""

    port: int
    places: tuple[Address, ...]
    """One address for each family."""
    servers: tuple[asyncio.Server, ...]

    def towards(self, host: str) -> Address | None:
        """The address to call `host` from; None for names, and where there is no socket of its family."""
        same = (own for own in self.places if is_literal(host) and (":" in own[0]) == (":" in host))
        return next(same, None)

    def close(self) -> None:
        """Stop accepting connections on all sockets."""
        for server in self.servers:
            server.close()

    async def wait_closed(self) -> None:
        """Wait until the accepted connections are gone."""
        for server in self.servers:
            await server.wait_closed()


async def listen(
    bind: str,
    port: int,
    *,
    stream: Callable[[], asyncio.BaseProtocol],
    datagrams: Callable[[], asyncio.DatagramProtocol],
) -> Listening:
    """Open TCP and UDP sockets on one port number; the UDP sockets ensure that no other program has it.

    Args:
        bind: An address of this computer, `ANY` or `ANY6`.
        port: 0 for any that is free for all sockets.
        stream: Makes a protocol for each connection.
        datagrams: Returns the protocol of each UDP socket, which may be one for all.

    Raises:
        Busy: the port is taken.
        BadInput: this computer has no such address.
    """
    for _ in range(PORT_ATTEMPTS):
        try:
            return await _open(_bound_at(_places(bind), port), stream=stream, datagrams=datagrams)
        except OSError as error:
            if error.errno not in TAKEN:
                message = "This computer cannot listen on {bind}: {error}."
                hint = "Choose one of this computer's addresses, or {any} for all."
                raise BadInput(message, bind, error.strerror, ANY, hint=hint) from error
            if port:
                break
    problem: Problem = Busy(
        "Port {port} is used by another program." if port else "No free port was found.",
        port,
        hint="Close that program, or choose another port; 0 lets the system choose.",
    )
    raise problem


async def listen_beside(
    bind: str, ports: Sequence[int], *, datagrams: Callable[[], asyncio.DatagramProtocol]
) -> int | None:
    """Open one more UDP port.

    With `ANY` it is one of IPv4: that is the family in which routers translate ports.

    Args:
        bind: An address of this computer, `ANY` or `ANY6`.
        ports: Tried in this order; 0: any.
        datagrams: Returns the protocol of the socket.

    Returns:
        The port; None: none of them is free.
    """
    loop = asyncio.get_running_loop()
    for port in ports:
        try:
            made = bound_socket(_places(bind)[0], socket.SOCK_DGRAM, port)
        except (OSError, OverflowError):
            continue
        await loop.create_datagram_endpoint(datagrams, sock=made)
        return int(made.getsockname()[1])
    return None


def refusal(bind: str, port: int, kind: socket.SocketKind) -> OSError | None:
    """Why no socket of this kind can listen there, in each family that `listen` takes; None: it can.

    Args:
        bind: An address of this computer, `ANY` or `ANY6`.
        port: The port.
        kind: TCP or UDP.
    """
    try:
        for made in _bound_at(_places(bind), port, kinds=(kind,)):
            made.close()
    except OSError as error:
        return error
    return None


# --- inside -----------------------------------------------------------------------------------------------------------


async def _open(
    bound: list[socket.socket],
    *,
    stream: Callable[[], asyncio.BaseProtocol],
    datagrams: Callable[[], asyncio.DatagramProtocol],
) -> Listening:
    loop = asyncio.get_running_loop()
    servers: list[asyncio.Server] = []
    try:
        for made in bound:
            if made.type == socket.SOCK_STREAM:
                server = await loop.create_server(stream, sock=made, backlog=BACKLOG)
                servers.append(server)
        for made in bound:
            if made.type == socket.SOCK_DGRAM:
                await loop.create_datagram_endpoint(datagrams, sock=made)
    except OSError:
        for server in servers:
            server.close()
        for made in bound:
            made.close()
        raise
    names = [server.sockets[0].getsockname() for server in servers]
    places = tuple((str(name[0]), int(name[1])) for name in names)
    return Listening(places[0][1], places, tuple(servers))


def _places(bind: str) -> list[BindAddress]:
    found = sorted(socket.getaddrinfo(bind, 0, type=socket.SOCK_STREAM), key=lambda info: info[0] != socket.AF_INET)
    places = [BindAddress(found[0][0], found[0][4], needed=True)]
    if bind == ANY:
        places.append(BindAddress(socket.AF_INET6, (ANY6, 0, 0, 0), needed=False))
    return places


def _bound_at(
    places: list[BindAddress], port: int, *, kinds: Sequence[socket.SocketKind] = _BOTH
) -> list[socket.socket]:
    """Open sockets of all kinds at all places, on one port number."""
    made: list[socket.socket] = []
    try:
        for place in places:
            for kind in kinds:
                try:
                    made.append(bound_socket(place, kind, port))
                except OSError as error:
                    if place.needed or error.errno in TAKEN:
                        raise
                    break  # this computer has no such family
                port = port or made[0].getsockname()[1]
    except OSError:
        for each in made:
            each.close()
        raise
    return made


def bound_socket(place: BindAddress, kind: socket.SocketKind, port: int) -> socket.socket:
    """Open a socket and bind it.

    Args:
        place: The address.
        kind: TCP or UDP.
        port: The port; 0: any.

    Raises:
        OSError: the address or the port cannot be had.
    """
    made = socket.socket(place.family, kind, _PROTOCOLS[kind])
    try:
        if place.family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if kind == socket.SOCK_STREAM and os.name == "posix":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if REUSE:
                made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.setblocking(False)
        made.bind((place.name[0], port, *place.name[2:]))
    except BaseException:
        made.close()
        raise
    return made
