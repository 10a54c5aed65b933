"""A site at which people sign in, on a real socket, with a real desk behind it, and a browser without a screen."""

import asyncio
import contextlib
import html
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import msgspec

from core.base.site.channel import DeskAnswer, DeskAsk
from core.base.site.ways import WaysIn
from core.site.backbone_line import BackboneLine
from core.site.copies import OpenCopies
from core.site.database import Database, database_url
from core.site.door import SignInDoor
from core.site.entrance import Entrance
from core.site.pages import Pages
from core.site.people_book import PeopleBook
from core.site.server import SiteServer
from core.site.team_pages import TeamPages
from core.site.try_model import TryModel
from tests.unit.backbone.site_desk import NOW, Desk, desk
from tests.unit.site.views import view

PASSPHRASE = "correct horse battery staple"


class Browser:
    """Keeps cookies, fills forms as they stand on a page, and says where they come from."""

    def __init__(self, site: str) -> None:
        self.site = site
        self.client = aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))
        self.text = ""
        self.status = 0
        self.location = ""
        self.headers: dict[str, str] = {}

    async def get(self, path: str) -> str:
        return await self._ask("GET", path)

    async def post(self, path: str, *, origin: str | None = "", **fields: str) -> str:
        """Send a form with the token of the page that was read last."""
        token = re.search(r'name="token" value="([^"]*)"', self.text)
        fields.setdefault("token", token[1] if token else "")
        headers = {} if origin is None else {"Origin": origin or self.site}
        return await self._ask("POST", path, data=fields, headers=headers)

    async def follow(self) -> str:
        """Go where the last page leads by itself."""
        found = re.search(r'http-equiv="refresh" content="0; url=([^"]*)"', self.text)
        assert found, self.text
        to = html.unescape(found[1])
        async with self.client.get(to if to.startswith("http") else self.site + to, allow_redirects=False) as answer:
            location = answer.headers.get("Location", "")
        return await self._ask("GET", location if answer.status == 302 else to)

    async def new(self, name: str = "Ada", passphrase: str = PASSPHRASE, **more: str) -> str:
        await self.get("/in/new")
        return await self.post("/in/new", name=name, passphrase=passphrase, again=passphrase, **more)

    async def passphrase(self, name: str = "Ada", passphrase: str = PASSPHRASE) -> str:
        await self.get("/in")
        return await self.post("/in", name=name, passphrase=passphrase)

    def cookie(self, name: str) -> str:
        return next((one.value for one in self.client.cookie_jar if one.key == name), "")

    async def _ask(self, method: str, path: str, **more) -> str:
        url = path if path.startswith("http") else self.site + path
        async with self.client.request(method, url, allow_redirects=False, **more) as answer:
            self.status, self.text = answer.status, await answer.text()
            self.headers = dict(answer.headers)
            self.location = answer.headers.get("Location", "")
        return await self.get(self.location) if answer.status == 303 else self.text


@dataclass
class Signing:
    """A site with ways in."""

    entrance: Entrance
    desk: Desk
    address: str
    ways: WaysIn
    now: list[float]
    site: SiteServer
    book: PeopleBook

    @contextlib.asynccontextmanager
    async def browser(self) -> AsyncIterator[Browser]:
        made = Browser(self.address)
        try:
            yield made
        finally:
            await made.client.close()

    async def ask(self, path: str, **said: str) -> tuple[int, dict]:
        """What a program is answered."""
        async with aiohttp.ClientSession() as client, client.post(self.address + path, json=said) as answer:
            return answer.status, await answer.json()


@contextlib.asynccontextmanager
async def signing(folder: Path, ways: Callable[[str], WaysIn], command: Sequence[str] = ()) -> AsyncIterator[Signing]:
    here, now = desk(folder), [NOW]
    line = BackboneLine(lambda data: tasks.append(asyncio.ensure_future(answer(data))))
    tasks: list[asyncio.Future[None]] = []

    async def answer(data: bytes) -> None:
        ask = msgspec.msgpack.decode(data[4:], type=DeskAsk)
        said = msgspec.msgpack.encode(await here.facts.answer(ask, now[0]))
        line.answered(msgspec.msgpack.decode(said, type=DeskAnswer))

    database, pages = Database(database_url("", folder)), Pages()
    entrance, book = Entrance(database, line, lambda: now[0]), PeopleBook(database)
    model = TryModel(command, folder)
    site = SiteServer(view(), pages, OpenCopies(folder), model, book, lambda: 0.0)
    teams = TeamPages(pages, book, entrance)
    site.doors.append(SignInDoor(pages, entrance, teams.answers))
    site.has_given, entrance.forget = teams.has_given, book.teams.forget
    listening = await site.listen("127.0.0.1", 0)
    address = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    signs = ways(address)
    entrance.open(signs)
    here.facts.opened(signs)
    try:
        yield Signing(entrance, here, address, signs, now, site, book)
    finally:
        listening.close()
        await entrance.close()
        await model.close()
        await book.close()
        database.close()


def walk(folder: Path, ways: Callable[[str], WaysIn], test: Callable[[Signing], Awaitable[None]]) -> None:
    async def run() -> None:
        async with signing(folder, ways) as here:
            await test(here)

    asyncio.run(run())
