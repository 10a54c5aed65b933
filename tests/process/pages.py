"""A page at which people sign in, as RFC 8628 has it: it answers what a test has written down."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Said = tuple[int, object]
PENDING: Said = (400, {"error": "authorization_pending"})


def refused(error: str, **more: object) -> Said:
    return 400, {"error": error, **more}


def ticket(secret: str, name: str = "") -> Said:
    return 200, {"ticket": secret, "account": "", "name": name}


@dataclass
class Page:
    """A page that a test runs.

    Attributes:
        answers: What it says about tickets, one after the other; the last one again and again.
        codes: What it says when a computer begins, in the place of usual codes.
        asked: Bodies that came, by path.
    """

    answers: Sequence[Said] = ()
    codes: Said | None = None
    site: str = ""
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    async def begun(self, request: web.Request) -> web.Response:
        self.asked.append((request.path, await request.json()))
        where = f"{self.site}/in/code"
        usual = {
            "device_code": "d" * 43,
            "user_code": "WDJB-MJHT",
            "verification_uri": where,
            "verification_uri_complete": f"{where}?code=WDJB-MJHT",
            "expires_in": 900,
            "interval": 5,
        }
        return _said(self.codes or (200, usual))

    async def told(self, request: web.Request) -> web.Response:
        self.asked.append((request.path, await request.json()))
        polls = sum(path == request.path for path, _ in self.asked)
        return _said(self.answers[min(polls, len(self.answers)) - 1])


def _said(said: Said) -> web.Response:
    status, body = said
    data: Any = body if isinstance(body, bytes) else json.dumps(body).encode()
    return web.Response(status=status, body=data, content_type="application/json")


@asynccontextmanager
async def page(*answers: Said, codes: Said | None = None) -> AsyncIterator[Page]:
    """A page on loopback."""
    made = Page(answers, codes)
    app = web.Application()
    app.add_routes([web.post("/in/device", made.begun), web.post("/in/ticket", made.told)])
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        where = web.TCPSite(runner, "127.0.0.1", 0)
        await where.start()
        made.site = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield made
    finally:
        await runner.cleanup()
