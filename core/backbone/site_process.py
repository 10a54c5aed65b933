"""The process that shows a collaboration to everybody: the backbone keeps it alive, and tells it what there is.

It holds no key, so a hole in a page costs pages.  What it shows comes by its stdin, whose end ends it.  On its stdout
it asks about people who have signed in there, one question after another (`core.backbone.ways.tickets`), and about
moderators (`core.backbone.moderators.moderator_desk`); a process that says something else there is ended.
"""

import asyncio
import contextlib
import importlib.util
import logging
import socket
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

import msgspec

from core.api.site_view import LENGTH_BYTES
from core.backbone.link import place
from core.backbone.site_facts import SiteFacts
from core.backbone.ways.ways_file import WaysFile
from core.base.problems import BadInput, Busy
from core.base.site.channel import ASK_BYTES_MAX, DeskAsk, SiteStart, framed
from core.base.site.ways import LOOPBACK, WaysIn
from core.net.listening import refusal
from core.system.child_process import own_command
from core.system.reports import end, start
from core.system.restarts import Restarts

_LOG = logging.getLogger(__name__)
PORT: Final = 8420
VIEW_S: Final = 1.0
"""Seconds between two views."""
STUCK_S: Final = 15.0
"""A process that takes no view for so long is ended."""
START_S: Final = 60.0
"""The same for its first view, before which it loads its libraries: seconds, on a computer whose cores are busy."""
EXIT_S: Final = 2.0
_ASKS: Final = msgspec.msgpack.Decoder(DeskAsk)


@dataclass(frozen=True, slots=True)
class SiteAddress:
    """Where the page is served, by plain HTTP: TLS is for a proxy in front of it."""

    host: str
    port: int
    database: str = ""
    """Address of PostgreSQL's; empty: the page's database is a file in the charter."""

    def __str__(self) -> str:
        return f"http://{place(self.host, self.port)}/"

    @property
    def ways(self) -> WaysIn | None:
        """The ways in where none are written down: moderators sign in on this computer; None: nobody does."""
        return WaysIn(str(self).rstrip("/")) if self.host in LOOPBACK else None

    def check(self) -> None:
        """See that a page can be served there.

        Raises:
            BadInput: what makes pages is not installed, or this computer has no such address.
            Busy: the port is taken.
        """
        if importlib.util.find_spec("jinja2") is None:
            raise BadInput("The page needs Jinja2.", hint='Install it: pip install "potluck[organiser]"')
        try:
            why = refusal(self.host, self.port, socket.SOCK_STREAM)
        except OSError as error:
            why = error
        if why is not None:
            told, at = "The page cannot be served at {place}: {error}.", place(self.host, self.port)
            raise Busy(told, at, why.strerror, hint="Choose another one: --site PORT --site-bind ADDRESS")


async def keep_site(address: SiteAddress, facts: SiteFacts, now: Callable[[], float], random: Random) -> None:
    """Keep the process alive until cancelled; one that ends is started again after a wait that grows.

    Args:
        address: Where it serves.
        facts: What it shows, and is answered.
        now: Unix seconds.
        random: Draws the jitter of the waits.
    """
    restarts = Restarts(random)
    try:
        while True:
            try:
                await _run_once(address, facts, now)
            except Exception:  # noqa: BLE001 - a full disk, a limit on processes: the backbone works without its page
                _LOG.exception("the process that serves the page has failed")
            await restarts.wait()
    finally:
        facts.close()


async def _run_once(address: SiteAddress, facts: SiteFacts, now: Callable[[], float]) -> None:
    words = (address.host, str(address.port), str(facts.copies), *facts.model_command)
    process = await start([*own_command("site", "core.site"), *words])
    assert process.stdin is not None
    assert process.stdout is not None
    ways = WaysFile(facts.folder)
    ended = asyncio.ensure_future(process.wait())
    answering = asyncio.ensure_future(_answer(process.stdout, process.stdin, facts, now))
    patience_s = START_S
    try:
        while not ended.done() and not answering.done():
            if ways.changed():
                opened = ways.ways or address.ways
                facts.opened(opened)
                process.stdin.write(framed(SiteStart(str(facts.folder), address.database, opened)))
                if ways.problem is not None:
                    _LOG.warning("the ways in stay as they are: %s", ways.problem)
            process.stdin.write(facts.frame(now()))
            async with asyncio.timeout(patience_s):
                await process.stdin.drain()
            patience_s = STUCK_S
            await asyncio.wait({ended, answering}, timeout=VIEW_S, return_when=asyncio.FIRST_COMPLETED)
    except (ConnectionError, TimeoutError):
        pass  # it has ended, or is stuck
    finally:
        ended.cancel()
        answering.cancel()
        await end(process, patience_s=EXIT_S)
    _LOG.warning("the process that serves the page has ended (%s)", process.returncode)


async def _answer(
    asks: asyncio.StreamReader, answers: asyncio.StreamWriter, facts: SiteFacts, now: Callable[[], float]
) -> None:
    """Answer the process, until it ends, or says what is not a question."""
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            count = int.from_bytes(await asks.readexactly(LENGTH_BYTES), "big")
            if count > ASK_BYTES_MAX:
                _LOG.warning("the process that serves the page says what is not a question")
                return
            try:
                ask = _ASKS.decode(await asks.readexactly(count))
            except ValueError:
                _LOG.warning("the process that serves the page says what is not a question")
                return
            answers.write(framed(await facts.answer(ask, now())))
            await answers.drain()
