"""One port number for both planes, and calls from that port."""

import asyncio
import errno
import socket
import sys
from collections.abc import Callable
from typing import Final

from core.base.problems import BadInput, Busy, Problem
from core.net.book import Address
from core.net.names import is_literal

PORT_ATTEMPTS = 20
BACKLOG = 128
REUSE: Final = hasattr(socket, "SO_REUSEPORT") and sys.platform != "win32"
"""Whether a call may leave from the port on which we listen."""


async def open_both(
    bind: str,
    port: int,
    *,
    stream: Callable[[], asyncio.BaseProtocol],
    datagrams: Callable[[], asyncio.DatagramProtocol],
) -> asyncio.Server:
    """A listening TCP socket and a UDP socket on one port number; the UDP socket sees to it that only we have it.

    Args:
        bind: An address of this computer.
        port: 0 for any that is free for both.
        stream: Makes a protocol for each connection.
        datagrams: Makes the protocol of the UDP socket.

    Raises:
        Busy: the port is taken.
        BadInput: this computer has no such address.
    """
    loop = asyncio.get_running_loop()
    for _ in range(PORT_ATTEMPTS):
        server = None
        try:
            server = await loop.create_server(stream, bind, port, backlog=BACKLOG, reuse_port=REUSE or None)
            number = server.sockets[0].getsockname()[1]
            await loop.create_datagram_endpoint(datagrams, local_addr=(bind, number))
        except OSError as error:
            if server is not None:
                server.close()
            if error.errno not in {errno.EADDRINUSE, errno.EACCES}:
                raise BadInput(
                    f"This computer cannot listen on {bind}: {error.strerror}.",
                    hint="Choose one of its own addresses, or 0.0.0.0 for all.",
                ) from error
            if port:
                break
        else:
            return server
    problem: Problem = Busy(
        f"Port {port} is used by another program." if port else "No free port was found.",
        hint="Close that program, or choose another port; 0 lets the system choose.",
    )
    raise problem


async def call(address: Address, *, own: Address | None, only: bool = False) -> socket.socket:
    """A TCP connection, made from the address on which we listen where that is possible.

    A router then gives it the same mapping that others have to call.  Where it is not possible (another family, another
    system, such a connection exists already), it leaves from any port.

    Args:
        address: Whom to call: an IP address, or a name.
        own: Where we listen; None for any port.
        only: Rather not at all than from another port.

    Raises:
        OSError: no connection.
    """
    loop = asyncio.get_running_loop()
    if own is not None and REUSE and is_literal(address[0]) and (":" in address[0]) == (":" in own[0]):
        try:
            return await _call_from(address, own)
        except OSError as error:
            if only or error.errno not in {errno.EADDRNOTAVAIL, errno.EADDRINUSE, errno.EINVAL}:
                raise
    infos = await loop.getaddrinfo(*address, type=socket.SOCK_STREAM)
    family, _, _, _, target = infos[0]
    return await _connected(socket.socket(family, socket.SOCK_STREAM), target)


async def _call_from(address: Address, own: Address) -> socket.socket:
    made = socket.socket(socket.AF_INET6 if ":" in own[0] else socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.bind(own)
    except OSError:
        made.close()
        raise
    return await _connected(made, address)


async def _connected(made: socket.socket, target: tuple[object, ...]) -> socket.socket:
    try:
        made.setblocking(False)
        await asyncio.get_running_loop().sock_connect(made, target)
    except BaseException:
        made.close()
        raise
    return made


def has_address(host: str) -> bool:
    """Whether this computer still has the address, as far as it can be told."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((host, 0))
        except OSError as error:
            return error.errno != errno.EADDRNOTAVAIL
    return True
