"""Answers strangers: who may connect, how long, what is kept ready, and the headers of each answer.

What the worst stranger gains: an answer that is made anew every `FRESH_S` seconds at most, whatever the number of
requests; connections as `core.base.connection_limit` has them, each for `LIFE_S` seconds; one of `DOWNLOADS_MAX`
downloads, for as long as it takes `LEAST_BYTES_PER_S`; a turn at the model (`core.site.try_model`); one reading of the
database for each page of a person that is made anew.  Only GET and HEAD are answered, and POST at one address; no other
body is read, and nothing that a stranger says is kept.
"""

import asyncio
import logging
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final

from aiohttp import web

from core.api.site_view import SiteCopy, SiteView
from core.base.connection_limit import ConnectionLimit
from core.site.boinc import FILES
from core.site.connections import IDLE_S, Answering, BoundedConnection
from core.site.copies import CACHED, FRESH_S, HEADERS, UNCACHED, Download, OpenCopies
from core.site.database import DatabaseProblem
from core.site.door import Door
from core.site.forms import FormError, household_of, is_of_here, read_form
from core.site.pages import Made, PageMatter, Pages, board_pages
from core.site.people_book import PeopleBook
from core.site.try_model import TryModel, UnansweredError

_LOG = logging.getLogger(__name__)
_NOBODY: Final = logging.getLogger(f"{__name__}.visitors")
"""Writes nothing: no record is kept of visitors."""
_NOBODY.disabled = True

CONNECTIONS_MAX: Final = 256
CONNECTIONS_OF_ONE_MAX: Final = 64
"""Connections of one address; those of a proxy on this computer are bounded together only."""
READY_MAX: Final = 256
"""Number of answers that are kept ready."""
DOWNLOADS_MAX: Final = 2
DIGITS_MAX: Final = 4
METHODS: Final = ("GET", "HEAD")
STATS: Final = "/stats/"
TRY: Final = "/try"
"""The one address that takes a form."""
REFUSALS: Final[Mapping[int, tuple[str, str]]] = {
    403: ("Not from there", "This is for the computer that serves it, or for the pages of this site."),
    400: ("Not understood", "This is not a form of this page."),
    404: ("Nothing here", "There is no such page, or a newer copy of the model has taken the place of this one."),
    405: ("Not like this", "This page can only be read."),
    500: ("A mistake of ours", "This page could not be made. Its organiser finds the reason in the log."),
    503: ("Busy", "This cannot be had at the moment. Try again in some minutes."),
}
"""By status: a title, and what to do."""


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
        model: Answers visitors' texts.
        book: What stands in the database about people.
        clock: Seconds, of a clock that only goes on.
    """

    def __init__(
        self,
        view: SiteView,
        pages: Pages,
        copies: OpenCopies,
        model: TryModel,
        book: PeopleBook,
        clock: Callable[[], float],
    ) -> None:
        self._view = view
        self._pages = pages
        self._copies = copies
        self._model = model
        self._book = book
        self._clock = clock
        self._ready: OrderedDict[tuple[str, int], _Ready] = OrderedDict()
        self._served: Counter[int] = Counter()
        self._sent_bytes = 0
        """Bytes of all bodies since the start."""
        self._downloads = 0
        self._busy: set[asyncio.BaseTransport] = set()
        """Connections on which an answer takes long: a download, or a turn at the model."""
        self._limit: ConnectionLimit[BoundedConnection] = ConnectionLimit(
            most=CONNECTIONS_MAX, most_of_one=CONNECTIONS_OF_ONE_MAX
        )
        self._old: set[asyncio.BaseTransport] = set()
        """Connections that get their last answer."""
        self.doors: list[Door] = []
        """Asked first; their answers are for one visitor alone, and not kept ready."""
        self.has_given: Callable[[web.BaseRequest, SiteView], Awaitable[bool]] | None = None
        """Tells whether samples of the person have been counted who asks; None: nobody signs in here."""
        self._answering = web.Server(self._answer, handler_cancellation=True)

    def show(self, view: SiteView) -> None:
        """Serve this from now on; what is kept ready stays until it is old."""
        self._view = view
        self._copies.want(copy.file for copy in view.copies)
        self._book.look(view)

    async def listen(self, host: str, port: int) -> asyncio.Server:
        """Listen; returns what closes that.

        Raises:
            OSError: the address or the port cannot be had.
        """
        return await asyncio.get_running_loop().create_server(self._connection, host, port, backlog=CONNECTIONS_MAX)

    def _connection(self) -> asyncio.Protocol:
        loop = asyncio.get_running_loop()
        inner = Answering(self._answering, loop=loop, access_log=_NOBODY, keepalive_timeout=IDLE_S, lingering_time=0.0)
        return BoundedConnection(inner, self._limit, self._old, self._busy)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            response = await self._found(request)
        except ConnectionError:
            raise  # whoever asked has gone
        except Exception:  # noqa: BLE001 - a mistake in one page costs that page
            if not self._is_ready(("", 500)):
                _LOG.exception("an answer has failed: %s", request.path[:80])
            response = self._refused(500, request)
        if request.transport in self._old:
            response.force_close()
        self._served[response.status] += 1
        body = response.body if isinstance(response, web.Response) else None
        self._sent_bytes += len(body) if isinstance(body, bytes) else response.body_length if response.prepared else 0
        return response

    async def _found(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path
        for door in self.doors:
            if (answer := await door.answer(request, self._view)) is not None:
                return answer
        if request.method == "POST" and path == TRY:
            return await self._try(request)
        if request.method not in METHODS:
            refused = self._refused(405, request)
            refused.headers["Allow"] = ", ".join((*METHODS, "POST") if path == TRY else METHODS)
            return refused
        if path == "/metrics" and not is_of_here(request):
            return self._refused(403, request)
        if path.startswith("/model/") and (copy := self._copy(path.removeprefix("/model/"))) is not None:
            return await self._download(copy, request)
        try:
            ready = await self._made(path, _page(request, self._view))
        except DatabaseProblem:
            return self._refused(503, request)
        if ready is None:
            return self._refused(404, request)
        return _response(ready, request)

    async def _made(self, path: str, page: int) -> _Ready | None:
        """The answer at an address, made anew where it is older than `FRESH_S`; None: there is none."""
        if self._is_ready((path, page)):
            return self._ready[path, page]
        if path.startswith(STATS):
            made = await self._stats(path.removeprefix(STATS))
        else:
            matter, account = self._matter, self._pages.account_in(path, self._view)
            if account is not None:
                matter = replace(matter, days=await self._book.days(account))
            made = self._pages.made(path, matter, page=page)
        if made is None:
            return None
        tag = f'"{blake2b(made.body, digest_size=12).hexdigest()}"'
        self._ready[path, page] = ready = _Ready(made, tag, self._clock() + FRESH_S)
        while len(self._ready) > READY_MAX:
            self._ready.popitem(last=False)
        return ready

    @property
    def _matter(self) -> PageMatter:
        can_try = self._model.is_here
        view, choices = self._view, self._book.choices
        return PageMatter(view, self._copies.digests, self._served, self._sent_bytes, can_try=can_try, choices=choices)

    async def _stats(self, name: str) -> Made | None:
        """A file of the statistics export, as it is today."""
        if name not in FILES:
            return None
        kind = "text/xml" if name.endswith(".xml") else "application/gzip"
        return Made(await self._book.stats(self._view, name), kind)

    async def _try(self, request: web.BaseRequest) -> web.Response:
        """Ask the newest copy of the model about a visitor's text."""
        try:
            text = (await read_form(request)).get("text", "").replace("\r\n", "\n")
        except FormError as refused:
            return self._refused(refused.status, request)
        transport = request.transport
        if transport is None:
            raise ConnectionResetError
        if not self._model.is_here or not self._view.copies:
            return self._refused(404, request)
        self._busy.add(transport)
        try:
            home, file = household_of(request), self._view.copies[0].file
            first = self.has_given is not None and await self.has_given(request, self._view)
            said = await self._model.ask(text, file, household=home, now=self._clock(), is_contributor=first)
            problem, status = f"{said.message} {said.hint}".strip(), 200
        except UnansweredError as failed:
            said, problem, status = None, str(failed), 429 if failed.is_busy else 200
        finally:
            self._busy.discard(transport)
        made = self._pages.tried(self._matter, text, said, problem, status)
        headers = {**HEADERS, **UNCACHED, "Content-Type": made.kind}
        response = web.Response(body=made.body, status=status, headers=headers)
        response.force_close()
        return response

    def _is_ready(self, key: tuple[str, int]) -> bool:
        return key in self._ready and self._clock() < self._ready[key].until

    def _refused(self, status: int, request: web.BaseRequest) -> web.Response:
        key = ("", status)
        if not self._is_ready(key):
            made = self._pages.error(status, *REFUSALS.get(status, REFUSALS[400]), self._view)
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
        if self._downloads >= DOWNLOADS_MAX and request.method == "GET":
            busy = self._refused(503, request)
            busy.headers["Retry-After"] = "60"
            return busy
        self._downloads += 1
        self._busy.add(transport)
        try:
            with await self._copies.open(copy) as file:
                return await Download(copy, file, request).send()
        except FileNotFoundError:
            return self._refused(404, request)
        finally:
            self._downloads -= 1
            self._busy.discard(transport)


def _response(ready: _Ready, request: web.BaseRequest) -> web.Response:
    """An answer that was made, or the word that the client has it already."""
    headers = {**HEADERS, **CACHED, "ETag": ready.tag}
    if ready.tag in request.headers.get("If-None-Match", ""):
        response = web.Response(status=304, headers=headers)
    else:
        headers["Content-Type"] = ready.made.kind
        response = web.Response(body=ready.made.body, status=ready.made.status, headers=headers)
    if request.body_exists:
        response.force_close()
    return response


def _page(request: web.BaseRequest, view: SiteView) -> int:
    """Which page of the board is asked for, of those that there are; 1 where it is not a number, and elsewhere."""
    asked = request.query.get("page", "1") if request.path == "/board" else "1"
    number = int(asked) if len(asked) <= DIGITS_MAX and asked.isascii() and asked.isdecimal() else 1
    return min(max(number, 1), board_pages(view))
