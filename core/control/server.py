"""The HTTP side of the control service: which clients it admits.

Only programs of this computer that know the token of `engine.json`: a web page in the person's browser can reach
127.0.0.1 too, but cannot set an Authorization header, does send an Origin, and after DNS rebinding a foreign Host.
"""

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler

from core.api.commands import MESSAGE_BYTES_MAX
from core.base.connection_limit import ConnectionLimit

PATH = "/control"
LOOPBACK = "127.0.0.1"
CLIENTS_MAX = 16
BACKLOG = 128
"""TCP connections that the system keeps until they are accepted, and that are accepted in one turn of the loop."""
STRANGERS_MAX = 2 * BACKLOG
"""TCP connections that are not admitted yet.  When there are as many, the oldest one makes way: a client says its token
at once, and is in before another user of this computer has made so many new ones."""
ADMISSION_S = 5.0
"""A TCP connection that is not admitted by then is cut."""
HEARTBEAT_S = 20.0
GOODBYE_S = 1.0

Serve = Callable[[web.WebSocketResponse, asyncio.BaseTransport | None], Awaitable[None]]
Answered = Callable[[str], Awaitable[str]]


class Server:
    """Listens on 127.0.0.1 and hands admitted WebSockets to `serve`, and single requests to `answered`.

    Args:
        token: Secret that each client must carry.
        serve: Talks to one client until it leaves.
        answered: Answers the request of a client that wants nothing else: a POST of the same JSON.
    """

    def __init__(self, token: str, serve: Serve, answered: Answered) -> None:
        self._expected = f"Bearer {token}".encode()
        self._serve = serve
        self._answered = answered
        self._clients = 0
        self._strangers: ConnectionLimit[Any] = ConnectionLimit(most=STRANGERS_MAX, most_of_one=STRANGERS_MAX)
        """Transports of connections that are not admitted."""
        self._waiting: dict[Any, asyncio.TimerHandle] = {}
        app = web.Application(middlewares=[self._guard, self._room], client_max_size=MESSAGE_BYTES_MAX)
        app.router.add_get(PATH, self._enter)
        app.router.add_post(PATH, self._answer)
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=GOODBYE_S)
        self._listener: asyncio.Server | None = None
        self.port = 0

    async def open(self) -> None:
        """Listen on a port of the system's choice; `port` tells which."""
        await self._runner.setup()
        self._listener = await asyncio.get_running_loop().create_server(
            lambda: _Arrival(self._arrived), LOOPBACK, 0, backlog=BACKLOG
        )
        self.port = self._listener.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Stop listening and end all connections."""
        if self._listener is not None:
            self._listener.close()
        for timer in self._waiting.values():
            timer.cancel()
        await self._runner.cleanup()

    def _arrived(self, transport: asyncio.Transport) -> None:
        """Serve a new TCP connection, for which another one may have to make way."""
        assert self._runner.server is not None
        victim = self._strangers.enter(transport, LOOPBACK)
        if victim is not None:
            self._cut(victim)
        self._waiting[transport] = asyncio.get_running_loop().call_later(ADMISSION_S, self._cut, transport)
        handler = self._runner.server()
        transport.set_protocol(handler)
        handler.connection_made(transport)

    def _cut(self, transport: asyncio.Transport) -> None:
        """End a connection that is not admitted."""
        self._wait_no_longer(transport)
        transport.abort()

    def _wait_no_longer(self, transport: asyncio.BaseTransport | None) -> None:
        timer = self._waiting.pop(transport, None)
        if timer is not None:
            timer.cancel()
            self._strangers.leave(transport)

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        headers = request.headers
        # Any port: an SSH tunnel has another one at its near end.
        if [name.rpartition(":")[0] for name in headers.getall("Host", [])] not in [["127.0.0.1"], ["localhost"]]:
            return web.Response(status=403, text="foreign Host\n")
        if "Origin" in headers:
            return web.Response(status=403, text="no web pages\n")
        given = headers.getall("Authorization", [])
        if len(given) != 1 or not hmac.compare_digest(given[0].encode("utf-8", "surrogateescape"), self._expected):
            return web.Response(status=401, text="the token of engine.json is missing or wrong\n")
        return await handler(request)

    @web.middleware
    async def _room(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if self._clients >= CLIENTS_MAX:
            return web.Response(status=503, text="too many clients\n")
        self._clients += 1
        try:
            return await handler(request)
        finally:
            self._clients -= 1

    async def _enter(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(
            max_msg_size=MESSAGE_BYTES_MAX, heartbeat=HEARTBEAT_S, timeout=GOODBYE_S, compress=False
        )
        if not socket.can_prepare(request):
            return web.Response(status=400, text="a WebSocket is expected\n")
        await socket.prepare(request)
        self._wait_no_longer(request.transport)
        await self._serve(socket, request.transport)
        return socket

    async def _answer(self, request: web.Request) -> web.Response:
        text = (await request.read()).decode(errors="replace")
        self._wait_no_longer(request.transport)
        response = web.Response(text=await self._answered(text), content_type="application/json")
        response.force_close()  # a connection that is kept would be one more without a limit
        return response


class _Arrival(asyncio.Protocol):
    """Protocol of a connection until its handshake is done."""

    def __init__(self, arrived: Callable[[Any], None]) -> None:
        self._arrived = arrived

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._arrived(transport)
