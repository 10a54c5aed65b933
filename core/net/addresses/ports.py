"""Calls that leave from the listening port."""

import asyncio
import errno
import socket
import sys
from typing import Final

from core.net.addresses.address_book import Address
from core.net.addresses.hosts import is_literal

REUSE: Final = hasattr(socket, "SO_REUSEPORT") and sys.platform != "win32"
"""Whether a call may leave from the listening port."""


async def call(address: Address, *, own: Address | None, only: bool = False) -> socket.socket:
    """Make a TCP connection, from the listening address where that is possible.

    A router then gives it the same mapping that others have to call.  Where it is not possible (another family, another
    system, such a connection exists already), it leaves from any port.

    Args:
        address: An IP address or a name, and a port.
        own: The listening address; None for any port.
        only: Fail rather than use another port.

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
    return await _connected(socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP), target)


async def _call_from(address: Address, own: Address) -> socket.socket:
    six = ":" in own[0]
    made = socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if six:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
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
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((host, 0))
    except OSError as error:
        return error.errno not in {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}
    return True
