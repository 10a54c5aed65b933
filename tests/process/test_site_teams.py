"""People who have signed in found, join and leave teams, say yes to the export, and have the model's first turn."""

import asyncio
import os
from itertools import product
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest

from core.api.reports import TeamView
from core.api.site_view import SitePerson
from core.backbone.admission_log import Newcomer
from core.base.ids import AccountId
from core.base.site.ways import Admit, Passphrase, WaysIn
from core.joining.own_team import OwnTeam
from core.site.try_model import QUEUE_MAX
from tests.process.browser import PROGRAM, browser, is_here
from tests.process.site_sign_in import Browser, Signing, signing
from tests.process.test_site_browser import HOSTILE, SEEN, TEAM
from tests.process.test_site_try import COMMAND
from tests.unit.backbone.site_desk import NOW, key
from tests.unit.site.views import view

pytestmark = pytest.mark.process


def ways(address: str) -> WaysIn:
    return WaysIn(address, passphrase=Passphrase(Admit.ANYBODY))


async def computer(here: Signing, browser: Browser, name: str, number: int) -> bytes:
    """Somebody signs in, and a computer of theirs is let in; returns the account of the board."""
    await browser.new(name)
    _, codes = await here.ask("/in/device", device="laptop")
    await browser.get(codes["verification_uri_complete"])
    await browser.post("/in/device", code=codes["user_code"], answer="yes")
    here.now[0] += 10
    _, said = await here.ask("/in/ticket", device_code=codes["device_code"])
    ticket = here.desk.tickets.named(said["ticket"], here.now[0])
    here.desk.log.admit(Newcomer(key(number), name), invitations=ticket, secret=said["ticket"], now=NOW)
    return here.desk.log.accounts.of(key(number))


def gave(here: Signing, *people: tuple[bytes, str]) -> None:
    rows = (SitePerson(1, name, 10, 1, 0, account, (10,)) for account, name in people)
    here.site.show(view(people=tuple(rows), samples=10 * len(people)))


def test_team_is_founded_joined_and_handed_over(tmp_path: Path) -> None:
    async def run() -> None:
        async with signing(tmp_path, ways) as here, here.browser() as ada, here.browser() as ben:
            assert "Sign in" in await ada.get("/me/team")
            await ada.new("Ada Early")
            assert "once a computer of yours" in await ada.get("/me/team")
            accounts = [
                await computer(here, one, name, n) for n, (one, name) in enumerate(((ada, "Ada"), (ben, "Ben")), 1)
            ]
            assert "once samples of yours" in await ada.get("/me/team")
            assert "once samples of yours" in await ada.post("/me/found", name="Too early")
            gave(here, (accounts[0], "Ada"), (accounts[1], "Ben"))
            await ada.get("/me/team")
            assert "and look after it" in await ada.post("/me/found", name="Readers")
            assert "Readers" in await ben.get("/me/team")
            assert "Another team is called so" in await ben.post("/me/found", name="readers")
            assert "You are in" in await ben.post("/me/join", number="1")
            await ada.get("/me/team")
            assert "Hand it over" in await ada.post("/me/leave")
            await ada.post("/me/hand-over", to=accounts[1].hex())
            assert here.book.choices.teams[1].founder == accounts[1]
            assert "Name me there" in await ada.post("/me/leave")
            assert "Do not name me" in await ada.post("/me/export", wanted="yes")
            assert list(here.book.choices.exported) == [accounts[0]]
            await ada.get("/me")
            await ada.post("/me", act="leave", sure="yes")
            await ben.get("/me")
            await ben.post("/me", act="leave", sure="yes")
            assert (here.book.choices.exported, here.book.choices.teams) == ({}, {})

    asyncio.run(run())


def test_window_hears_of_the_team_and_its_place(tmp_path: Path) -> None:
    async def run() -> None:
        async with signing(tmp_path, ways) as here, here.browser() as ada, here.browser() as ben:
            accounts = [await computer(here, ada, "Ada", 1), await computer(here, ben, "Ben", 2)]
            rows = [SitePerson(n + 1, "AB"[n], 30 - 10 * n, 1, 0, account, (1,)) for n, account in enumerate(accounts)]
            here.site.show(view(people=tuple(rows), samples=50))
            for each, name in ((ada, "Readers"), (ben, "Writers")):
                await each.get("/me/team")
                await each.post("/me/found", name=name)
            second = TeamView(name="Writers", rank=2, teams=2, next_name="Readers", missing=10)
            assert await OwnTeam().look(here.address, accounts[1]) == second
            first = await OwnTeam().look(here.address, accounts[0])
            assert (first.name, first.rank, first.missing) == ("Readers", 1, 0)
            assert await OwnTeam().look(here.address, AccountId(b"?" * 16)) == TeamView()

    asyncio.run(run())


def test_form_without_its_token_or_from_elsewhere_does_nothing(tmp_path: Path) -> None:
    async def run() -> None:
        async with signing(tmp_path, ways) as here, here.browser() as ada:
            account = await computer(here, ada, "Ada", 1)
            gave(here, (account, "Ada"))
            await ada.get("/me/team")
            assert "too old, or not of this page" in await ada.post("/me/found", name="Readers", token="x" * 32)
            await ada.get("/me/team")
            assert "cannot be read" in await ada.post("/me/found", name="Readers", origin="https://evil.example")
            async with here.browser() as stranger:
                assert "Sign in" in await stranger.post("/me/found", name="Readers")
            assert not here.book.choices.teams

    asyncio.run(run())


def test_contributor_has_the_first_turn_at_the_model(tmp_path: Path) -> None:
    async def asked(here: Signing, browser: Browser, text: str, home: str, order: list[str]) -> None:
        headers = {"X-Forwarded-For": home}
        async with browser.client.post(f"{here.address}/try", data={"text": text}, headers=headers) as answer:
            await answer.read()
            order.append(text if answer.status == 200 else f"{answer.status}")

    async def run() -> None:
        order: list[str] = []
        async with signing(tmp_path, ways, COMMAND) as here, here.browser() as ada, here.browser() as stranger:
            account = await computer(here, ada, "Ada", 1)
            gave(here, (account, "Ada"))
            first = asyncio.create_task(asked(here, stranger, "wait", "198.51.100.1", order))
            await asyncio.sleep(0.1)
            homes = [(f"stranger {n}", f"198.51.100.{n + 10}") for n in range(QUEUE_MAX)]
            others = [asyncio.create_task(asked(here, stranger, *one, order)) for one in homes]
            await asyncio.sleep(0.1)
            await asked(here, ada, "contributor", "198.51.100.2", order)
            await asyncio.gather(first, *others)
        assert order[order.index("wait") + 1] == "contributor"
        assert order.count("429") == 1

    asyncio.run(run())


def test_cookie_of_nobody_has_no_first_turn(tmp_path: Path) -> None:
    async def asked(client: aiohttp.ClientSession, address: str, number: int, text: str, cookie: str) -> None:
        headers = {"Cookie": f"session={cookie}", "X-Forwarded-For": f"198.51.100.{number}"}
        async with client.post(f"{address}/try", data={"text": text}, headers=headers) as answer:
            assert answer.status == 200
            await answer.read()
            order.append(text)

    async def run() -> None:
        async with signing(tmp_path, ways, COMMAND) as here, aiohttp.ClientSession() as client:
            texts = [("wait", ""), ("first", ""), ("then", "x" * 43), ("last", "y" * 5000)]
            asking = []
            for number, (text, cookie) in enumerate(texts):
                asking.append(asyncio.create_task(asked(client, here.address, number, text, cookie)))
                await asyncio.sleep(0.1)
            await asyncio.gather(*asking)

    order: list[str] = []
    asyncio.run(run())
    assert order[:2] == ["wait", "first"]


@pytest.mark.skipif(not is_here(), reason=f"This needs the browser {PROGRAM}, of Debian's package of that name.")
def test_page_of_choices_fits_every_screen(tmp_path: Path) -> None:
    def look(address: str, session: str) -> None:
        with browser() as tab:
            tab.tell("Network.setCookie", name="session", value=session, url=address, sameSite="Strict", httpOnly=True)
            for width, dark in product((360, 1280), (False, True)):
                tab.open(f"{address}/me/team", width=width, dark=dark)
                seen = tab.value(SEEN)
                assert "Hand it over" in tab.value("document.body.textContent")
                assert not seen["wide"], width
                assert not seen["ran"]
                assert seen["size"] >= 12
                assert {urlsplit(asked).netloc for asked in tab.asked} == {urlsplit(address).netloc}
            tab.value("document.querySelector('select').focus()")
            tab.press("Tab", 9)
            assert tab.value("document.activeElement.textContent") == "Hand over"
            assert tab.value("getComputedStyle(document.activeElement).outlineStyle") == "solid"
            if pictures := os.environ.get("POTLUCK_PICTURES"):
                tab.open(f"{address}/me/team", width=360, dark=False)
                tab.picture(Path(pictures) / "site-team.png")

    async def run() -> None:
        async with signing(tmp_path, ways) as here, here.browser() as ada, here.browser() as ben:
            accounts = [await computer(here, ada, "Ada", 1), await computer(here, ben, "Ben", 2)]
            gave(here, (accounts[0], "Ada"), (accounts[1], HOSTILE))
            await ada.get("/me/team")
            await ada.post("/me/found", name=TEAM)
            await ben.get("/me/team")
            await ben.post("/me/join", number="1")
            await asyncio.to_thread(look, here.address, ada.cookie("session"))

    asyncio.run(run())
