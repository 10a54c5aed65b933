"""The HTTP side of the control service: which clients it admits.

Only programs of this computer that know the token of `engine.json`: a web page in the person's browser can reach
127.0.0.1 too, but cannot set an Authorization header, does send an Origin, and after DNS rebinding a foreign Host.
"""

import asyncio
import hmac
from collections.abc import Awaitable, Callable

from aiohttp import web
from aiohttp.typedefs import Handler

from core.api.commands import MESSAGE_BYTES_MAX

PATH = "/control"
CLIENTS_MAX = 16
SOCKETS_MAX = 64
"""TCP connections, admitted or not."""
ADMISSION_S = 5.0
"""A TCP connection that is not admitted by then is cut."""
HEARTBEAT_S = 20.0
GOODBYE_S = 1.0

Serve = Callable[[web.WebSocketResponse, asyncio.BaseTransport | None], Awaitable[None]]


class Server:
    """Listens on 127.0.0.1 and hands admitted WebSockets to `serve`.

    Args:
        token: Secret that each client must carry.
        serve: Talks to one client until it leaves.
    """

    def __init__(self, token: str, serve: Serve) -> None:
        self._expected = f"Bearer {token}".encode()
        self._serve = serve
        self._clients = 0
        self._waiting: dict[object, asyncio.TimerHandle] = {}
        app = web.Application(middlewares=[self._guard])
        app.router.add_get(PATH, self._enter)
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=GOODBYE_S)
        self._listener: asyncio.Server | None = None
        self.port = 0

    async def open(self) -> None:
        """Listen on a port of the system's choice; `port` tells which."""
        await self._runner.setup()
        self._listener = await asyncio.get_running_loop().create_server(self._protocol, "127.0.0.1", 0)
        self.port = self._listener.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Stop listening and end all connections."""
        if self._listener is not None:
            self._listener.close()
        for timer in self._waiting.values():
            timer.cancel()
        await self._runner.cleanup()

    def _protocol(self) -> asyncio.BaseProtocol:
        """The protocol of a new TCP connection."""
        server = self._runner.server
        if server is None or len(server.connections) >= SOCKETS_MAX:
            return _Closed()
        protocol: asyncio.Protocol = server()
        self._waiting[protocol] = asyncio.get_running_loop().call_later(ADMISSION_S, self._expire, protocol)
        return protocol

    def _expire(self, protocol: asyncio.Protocol) -> None:
        """Cut a connection that was not admitted in time."""
        del self._waiting[protocol]
        transport = getattr(protocol, "transport", None)
        if transport is not None:
            transport.abort()

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        headers = request.headers
        if headers.getall("Host", []) not in [[f"127.0.0.1:{self.port}"], [f"localhost:{self.port}"]]:
            return web.Response(status=403, text="foreign Host\n")
        if "Origin" in headers:
            return web.Response(status=403, text="no web pages\n")
        given = headers.getall("Authorization", [])
        if len(given) != 1 or not hmac.compare_digest(given[0].encode("utf-8", "surrogateescape"), self._expected):
            return web.Response(status=401, text="the token of engine.json is missing or wrong\n")
        return await handler(request)

    async def _enter(self, request: web.Request) -> web.StreamResponse:
        if self._clients >= CLIENTS_MAX:
            return web.Response(status=503, text="too many clients\n")
        self._clients += 1
        try:
            socket = web.WebSocketResponse(
                max_msg_size=MESSAGE_BYTES_MAX, heartbeat=HEARTBEAT_S, timeout=GOODBYE_S, compress=False
            )
            if not socket.can_prepare(request):
                return web.Response(status=400, text="a WebSocket is expected\n")
            await socket.prepare(request)
            self._waiting.pop(request.protocol).cancel()
            await self._serve(socket, request.transport)
            return socket
        finally:
            self._clients -= 1


class _Closed(asyncio.Protocol):
    """Protocol of a surplus connection, which it ends."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()
