"""Connections of strangers: how many, and for how long."""

import asyncio
from typing import Any, Final

from aiohttp import web

from core.base.connection_limit import ConnectionLimit
from core.base.rate_limit import network
from core.site.copies import HEADERS, UNCACHED
from core.site.forms import LOOPBACK

IDLE_S: Final = 10.0
"""Seconds for the headers of a request, and between two requests of a connection."""
LIFE_S: Final = 60.0
"""Seconds that a connection lasts, unless it downloads; one that is half as old gets its last answer."""


class Answering(web.RequestHandler):
    """Reads requests; aiohttp's own writes a line of the log for bytes that are none, and repeats them."""

    __slots__ = ()

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """Refuse what is not a request, and end its connection."""
        del exc, message
        if request.writer.output_size > 0:
            raise ConnectionError("an answer has begun")
        response = web.Response(status=status, text="This is not a request.\n", headers={**HEADERS, **UNCACHED})
        response.force_close()
        return response


class BoundedConnection(asyncio.Protocol):
    """A connection whose number and time are bounded, in front of another protocol.

    Args:
        inner: What answers.
        limit: Counts connections.
        old: Takes those that get their last answer.
        busy: Those whose answer takes long, which last as long as it does.
    """

    def __init__(
        self,
        inner: asyncio.Protocol,
        limit: "ConnectionLimit[BoundedConnection]",
        old: set[asyncio.BaseTransport],
        busy: set[asyncio.BaseTransport],
    ) -> None:
        self._inner = inner
        self._limit = limit
        self._old = old
        self._busy = busy
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Count it, which may end another one, and begin its time."""
        self._transport = transport
        address = (transport.get_extra_info("peername") or ("::",))[0]
        of = f"here {id(self)}" if address in LOOPBACK else network(address)
        if (victim := self._limit.enter(self, of)) is not None:
            victim.cut()
        self._timer = asyncio.get_running_loop().call_later(LIFE_S / 2, self._grow_old)
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Note that it has spoken."""
        self._limit.spoke(self)
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        """Pass it on, as `asyncio.Protocol` has it."""
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        """Pass it on, as `asyncio.Protocol` has it."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Pass it on, as `asyncio.Protocol` has it."""
        self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection, which is over."""
        self._limit.leave(self)
        if self._timer is not None:
            self._timer.cancel()
        if self._transport is not None:
            self._old.discard(self._transport)
        self._inner.connection_lost(exc)

    def cut(self) -> None:
        """End the connection at once, whatever it does."""
        if self._transport is not None:
            self._transport.abort()

    def _grow_old(self) -> None:
        assert self._transport is not None
        if self._transport in self._old and self._transport not in self._busy:
            self.cut()
            return
        self._old.add(self._transport)
        self._timer = asyncio.get_running_loop().call_later(LIFE_S / 2, self._grow_old)
