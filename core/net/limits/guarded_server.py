"""A TLS server for strangers: their connections are bounded in number, of each address too, and in time.

asyncio's own server begins TLS with whatever connects, 0.3 MB each, before its owner hears of it.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from core.base.connection_limit import ConnectionLimit
from core.base.rate_limit import network

CONNECTIONS_MAX: Final = 256
CONNECTIONS_OF_ONE_MAX: Final = 64
"""Connections of one address: a class behind one router joins together."""
HANDSHAKE_S: Final = 5.0
"""Seconds for the TLS handshake of a newcomer."""
LIFE_S: Final = 60.0
"""Seconds that a connection lasts, whatever it does: newcomers give up after a third of that."""
RETRY_S: Final = 0.1
"""Seconds to wait when the system has no more sockets."""


class GuardedServer:
    """Accepts connections, and hands each over when its TLS stands.

    Args:
        sockets: They listen already.
        context: TLS of the server's side.
        protocol: Makes the protocol of a connection.
    """

    def __init__(
        self, sockets: Sequence[socket.socket], context: ssl.SSLContext, protocol: Callable[[], asyncio.Protocol]
    ) -> None:
        self._sockets = sockets
        self._context = context
        self._protocol = protocol
        self._limit: ConnectionLimit[asyncio.Task[None]] = ConnectionLimit(
            most=CONNECTIONS_MAX, most_of_one=CONNECTIONS_OF_ONE_MAX
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._unserved: set[socket.socket] = set()
        """Connections whose tasks have not begun."""
        for listening in sockets:
            listening.setblocking(False)
            self._spawn(self._accept(listening))

    def __len__(self) -> int:
        return len(self._limit)

    async def close(self) -> None:
        """Stop listening, and end all connections."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for listening in self._sockets:
            listening.close()

    def _spawn(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, address = await _accepted(listening)
            except OSError:
                await asyncio.sleep(RETRY_S)
                continue
            self._unserved.add(connection)
            served = self._spawn(self._serve(connection, network(address[0])))
            served.add_done_callback(partial(self._drop, connection))

    def _drop(self, connection: socket.socket, _: object) -> None:
        """Close a connection whose task was cancelled before its first step."""
        if connection in self._unserved:
            self._unserved.discard(connection)
            connection.close()

    async def _serve(self, connection: socket.socket, of: str) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._unserved.discard(connection)
        if (victim := self._limit.enter(task, of)) is not None:
            victim.cancel()
        try:
            async with asyncio.timeout(HANDSHAKE_S):
                await _first_byte(connection)
        except (TimeoutError, asyncio.CancelledError):
            self._limit.leave(task)
            connection.close()
            return
        self._limit.spoke(task)
        loop, followed = asyncio.get_running_loop(), _Followed(self._protocol())
        try:
            async with asyncio.timeout(LIFE_S):
                transport, _ = await loop.connect_accepted_socket(
                    lambda: followed, connection, ssl=self._context, ssl_handshake_timeout=HANDSHAKE_S
                )
                try:
                    await followed.lost
                finally:
                    transport.abort()
        except (OSError, TimeoutError):
            pass  # it did not speak TLS, or was slow
        finally:
            self._limit.leave(task)


async def _accepted(listening: socket.socket) -> tuple[socket.socket, Any]:
    """The next connection: `sock_accept` loses the one that comes while its task is being cancelled."""
    try:
        await _arrival(listening)
    except NotImplementedError:
        return await asyncio.get_running_loop().sock_accept(listening)
    connection, address = listening.accept()
    connection.setblocking(False)
    return connection, address


async def _first_byte(connection: socket.socket) -> None:
    """Wait until something has arrived: TLS takes 0.3 MB from its beginning, and a silent connection needs none."""
    with contextlib.suppress(NotImplementedError):
        await _arrival(connection)


async def _arrival(source: socket.socket) -> None:
    """Wait until a socket has something to give.

    Raises:
        NotImplementedError: the loop of Windows cannot tell.
    """
    loop, arrived = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(source, arrived.set)
    try:
        await arrived.wait()
    finally:
        loop.remove_reader(source)


class _Followed(asyncio.Protocol):
    """Passes everything on to another protocol, and tells when the connection is over."""

    def __init__(self, protocol: asyncio.Protocol) -> None:
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._protocol = protocol
        self.data_received = protocol.data_received  # type: ignore[method-assign]
        self.eof_received = protocol.eof_received  # type: ignore[method-assign]
        self.pause_writing = protocol.pause_writing  # type: ignore[method-assign]
        self.resume_writing = protocol.resume_writing  # type: ignore[method-assign]
        self.connection_made = protocol.connection_made  # type: ignore[method-assign]

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is over."""
        self._protocol.connection_lost(exc)
        if not self.lost.done():
            self.lost.set_result(None)


def listening_sockets(host: str, port: int, *, also: str = "") -> list[socket.socket]:
    """Open sockets that listen for TCP, all on one port number.

    Args:
        host: An address of this computer.
        port: 0 for any that is free.
        also: A second address, which this computer may lack; empty: none.

    Raises:
        OSError: the address or the port cannot be had.
    """
    made = [_listening(host, port)]
    if also:
        with contextlib.suppress(OSError):
            made.append(_listening(also, made[0].getsockname()[1]))
    return made


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=CONNECTIONS_MAX)
