"""Answers strangers: who may connect, how long, what is kept ready, and the headers of each answer.

What the worst stranger gains: an answer that is made anew every `FRESH_S` seconds at most, whatever the number of
requests; connections as `core.base.connection_limit` has them, each for `LIFE_S` seconds; one of `DOWNLOADS_MAX`
downloads, for as long as it takes `LEAST_BYTES_PER_S`.  Only GET and HEAD are answered, bodies are never read, and
nothing that a stranger says is kept.
"""

import asyncio
import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

from aiohttp import web

from core.api.site_view import SiteCopy, SiteView
from core.base.connection_limit import ConnectionLimit
from core.base.rate_limit import household
from core.site.copies import CACHED, FRESH_S, HEADERS, Download, OpenCopies
from core.site.pages import Made, PageMatter, Pages

_LOG = logging.getLogger(__name__)
_NOBODY: Final = logging.getLogger(f"{__name__}.visitors")
"""Writes nothing: no record is kept of visitors."""
_NOBODY.disabled = True

CONNECTIONS_MAX: Final = 256
CONNECTIONS_OF_ONE_MAX: Final = 64
"""Connections of one address; those of a proxy on this computer are bounded together only."""
IDLE_S: Final = 10.0
"""Seconds for the headers of a request, and between two requests of a connection."""
LIFE_S: Final = 60.0
"""Seconds that a connection lasts, unless it downloads; one that is half as old gets its last answer."""
READY_MAX: Final = 256
"""Number of answers that are kept ready."""
DOWNLOADS_MAX: Final = 2
PAGES_MAX: Final = 1000
DIGITS_MAX: Final = 4
UNCACHED: Final = {"Cache-Control": "no-store"}
METHODS: Final = ("GET", "HEAD")
REFUSALS: Final[Mapping[int, tuple[str, str]]] = {
    403: ("Not from there", "These numbers are for the computer that serves them."),
    404: ("Nothing here", "There is no such page, or a newer copy of the model has taken the place of this one."),
    405: ("Not like this", "This page can only be read."),
    500: ("A mistake of ours", "This page could not be made. Its organiser finds the reason in the log."),
    503: ("Busy", "Others download at the moment. Try again in some minutes."),
}
"""By status: a title, and what to do."""
LOOPBACK: Final = ("127.0.0.1", "::1")
FORWARDED: Final = ("Forwarded", "X-Forwarded-For", "Via")
"""Headers by which a proxy says that somebody else asks."""


@dataclass(slots=True)
class _Ready:
    """An answer that was made, and until when it is given again."""

    made: Made
    tag: str
    until: float


class SiteServer:
    """Serves what the backbone has sent last.

    Args:
        view: The first; `show` takes it as well, once a loop runs.
        pages: What stands at which address.
        copies: The copies of the model.
        clock: Seconds, of a clock that only goes on.
    """

    def __init__(self, view: SiteView, pages: Pages, copies: OpenCopies, clock: Callable[[], float]) -> None:
        self._view = view
        self._pages = pages
        self._copies = copies
        self._clock = clock
        self._ready: OrderedDict[tuple[str, int], _Ready] = OrderedDict()
        self._served: Counter[int] = Counter()
        self._downloads: set[asyncio.BaseTransport] = set()
        self._limit: ConnectionLimit[_BoundedConnection] = ConnectionLimit(
            most=CONNECTIONS_MAX, most_of_one=CONNECTIONS_OF_ONE_MAX
        )
        self._old: set[asyncio.BaseTransport] = set()
        """Connections that get their last answer."""
        self._answering = web.Server(self._answer)

    def show(self, view: SiteView) -> None:
        """Serve this from now on; what is kept ready stays until it is old."""
        self._view = view
        self._copies.want(copy.file for copy in view.copies)

    async def listen(self, host: str, port: int) -> asyncio.Server:
        """Listen; returns what closes that.

        Raises:
            OSError: the address or the port cannot be had.
        """
        return await asyncio.get_running_loop().create_server(self._connection, host, port, backlog=CONNECTIONS_MAX)

    def _connection(self) -> asyncio.Protocol:
        loop = asyncio.get_running_loop()
        inner = _Answering(self._answering, loop=loop, access_log=_NOBODY, keepalive_timeout=IDLE_S, lingering_time=0.0)
        return _BoundedConnection(inner, self._limit, self._old, self._downloads)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            response = await self._found(request)
        except ConnectionError:
            raise  # whoever asked has gone
        except Exception:  # noqa: BLE001 - a mistake in one page costs that page
            if not self._is_ready(("", 500)):
                _LOG.exception("an answer has failed: %s", request.path[:80])
            response = self._refused(500, request)
        self._served[response.status] += 1
        return response

    async def _found(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path
        if request.method not in METHODS:
            refused = self._refused(405, request)
            refused.headers["Allow"] = ", ".join(METHODS)
            return refused
        if path == "/metrics" and not _is_of_here(request):
            return self._refused(403, request)
        if path.startswith("/model/") and (copy := self._copy(path.removeprefix("/model/"))) is not None:
            return await self._download(copy, request)
        ready = self._made(path, _page(request))
        if ready is None:
            return self._refused(404, request)
        return _response(ready, request, last=request.transport in self._old)

    def _made(self, path: str, page: int) -> _Ready | None:
        """The answer at an address, made anew where it is older than `FRESH_S`; None: there is none."""
        if self._is_ready((path, page)):
            return self._ready[path, page]
        made = self._pages.made(path, PageMatter(self._view, self._copies.digests, self._served), page=page)
        if made is None:
            return None
        tag = f'"{blake2b(made.body, digest_size=12).hexdigest()}"'
        self._ready[path, page] = ready = _Ready(made, tag, self._clock() + FRESH_S)
        while len(self._ready) > READY_MAX:
            self._ready.popitem(last=False)
        return ready

    def _is_ready(self, key: tuple[str, int]) -> bool:
        return key in self._ready and self._clock() < self._ready[key].until

    def _refused(self, status: int, request: web.BaseRequest) -> web.Response:
        key = ("", status)
        if not self._is_ready(key):
            made = self._pages.error(status, *REFUSALS[status], self._view)
            self._ready[key] = _Ready(made, "", self._clock() + FRESH_S)
        made = self._ready[key].made
        headers = {**HEADERS, **UNCACHED, "Content-Type": made.kind}
        response = web.Response(body=made.body, status=status, headers=headers)
        if request.method not in METHODS or request.body_exists:
            response.force_close()  # a body that nobody reads
        return response

    def _copy(self, number: str) -> SiteCopy | None:
        return next((copy for copy in self._view.copies if str(copy.number) == number), None)

    async def _download(self, copy: SiteCopy, request: web.BaseRequest) -> web.StreamResponse:
        transport = request.transport
        if transport is None:
            raise ConnectionResetError
        if len(self._downloads) >= DOWNLOADS_MAX and request.method == "GET":
            busy = self._refused(503, request)
            busy.headers["Retry-After"] = "60"
            return busy
        self._downloads.add(transport)
        try:
            with await self._copies.open(copy) as file:
                return await Download(copy, file, request).send()
        except FileNotFoundError:
            return self._refused(404, request)
        finally:
            self._downloads.discard(transport)


class _Answering(web.RequestHandler):
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


class _BoundedConnection(asyncio.Protocol):
    """A connection whose number and time are bounded, in front of another protocol.

    Args:
        inner: What answers.
        limit: Counts connections.
        old: Takes those that get their last answer.
        busy: Those that download, which last as long as that takes.
    """

    def __init__(
        self,
        inner: asyncio.Protocol,
        limit: "ConnectionLimit[_BoundedConnection]",
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
        of = f"here {id(self)}" if address in LOOPBACK else household(address)
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


def _response(ready: _Ready, request: web.BaseRequest, *, last: bool) -> web.Response:
    """An answer that was made, or the word that the client has it already."""
    headers = {**HEADERS, **CACHED, "ETag": ready.tag}
    if ready.tag in request.headers.get("If-None-Match", ""):
        response = web.Response(status=304, headers=headers)
    else:
        headers["Content-Type"] = ready.made.kind
        response = web.Response(body=ready.made.body, status=ready.made.status, headers=headers)
    if last or request.body_exists:
        response.force_close()
    return response


def _page(request: web.BaseRequest) -> int:
    """Which page of the board is asked for; 1 everywhere else, and where it is not a number."""
    asked = request.query.get("page", "1") if request.path == "/board" else "1"
    number = int(asked) if len(asked) <= DIGITS_MAX and asked.isascii() and asked.isdecimal() else 1
    return number if 0 < number <= PAGES_MAX else 1


def _is_of_here(request: web.BaseRequest) -> bool:
    """Whether a program on this computer asks, and for nobody else."""
    return request.remote in LOOPBACK and not any(name in request.headers for name in FORWARDED)
