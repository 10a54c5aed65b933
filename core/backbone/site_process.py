"""The process that shows a collaboration to everybody: the backbone keeps it alive, and tells it what there is.

It holds no key, so a hole in a page costs pages.  What it shows comes by its stdin, whose end ends it; it says nothing
back.
"""

import asyncio
import importlib.util
import logging
import socket
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

from core.backbone.link import place
from core.backbone.site_facts import SiteFacts
from core.base.problems import BadInput, Busy
from core.net.listening import refusal
from core.system.child_process import own_command
from core.system.reports import end
from core.system.restarts import Restarts

_LOG = logging.getLogger(__name__)
PORT: Final = 8420
VIEW_S: Final = 1.0
"""Seconds between two views."""
STUCK_S: Final = 15.0
"""A process that takes no view for so long is ended."""
EXIT_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class SiteAddress:
    """Where the page is served, by plain HTTP: TLS is for a proxy in front of it."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"http://{place(self.host, self.port)}/"

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
        facts: What it shows.
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
    process = await asyncio.create_subprocess_exec(
        *own_command("site", "core.site"),
        *(address.host, str(address.port), str(facts.copies)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )
    assert process.stdin is not None
    ended = asyncio.ensure_future(process.wait())
    try:
        while not ended.done():
            process.stdin.write(facts.frame(now()))
            async with asyncio.timeout(STUCK_S):
                await process.stdin.drain()
            await asyncio.wait({ended}, timeout=VIEW_S)
    except (ConnectionError, TimeoutError):
        pass  # it has ended, or is stuck
    finally:
        ended.cancel()
        await end(process, patience_s=EXIT_S)
    _LOG.warning("the process that serves the page has ended (%s)", process.returncode)
