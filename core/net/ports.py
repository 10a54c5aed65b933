"""One port number for both planes."""

import asyncio
import errno
from collections.abc import Callable

from core.base.problems import BadInput, Busy, Problem

PORT_ATTEMPTS = 20
BACKLOG = 128


async def open_both(
    bind: str,
    port: int,
    *,
    stream: Callable[[], asyncio.BaseProtocol],
    datagrams: Callable[[], asyncio.DatagramProtocol],
) -> asyncio.Server:
    """A listening TCP socket and a UDP socket on one port number.

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
            server = await loop.create_server(stream, bind, port, backlog=BACKLOG)
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
